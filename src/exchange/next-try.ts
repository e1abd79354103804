import type { Clock, Reply } from "./ports.ts";

/** The wait before a call is repeated, and whether it ends before the deadline, with a chance of another outcome. */
interface NextTry {
  waitMs: number;
  inTime: boolean;
}

/**
 * Returns how long to wait before a call is repeated, after a 429 as after a lost response: as long as the service asks
 * (`Retry-After`, at least 50 ms), else doubling from 200 ms to 10 s. The loops that wait are those of start/send, end/send, single/call,
 * single/delete and commands/ack/token; service/places waits before a call, so that no 429 comes.
 */
export function nextTry(
  { clock, deadline }: { clock: Clock; deadline: number },
  attempt: number,
  reply?: Reply,
): NextTry {
  const retryAfter = reply?.type === "answer" ? reply.answer.retryAfter : undefined;
  const waitMs =
    retryAfter === undefined
      ? Math.min(10_000, 200 * 2 ** Math.min(attempt, 6))
      : Math.max(retryAfter * 1000, 50);
  const lasts = reply?.type === "not-sent" && reply.lasts === true;
  return { waitMs, inTime: !lasts && clock.elapsed() + waitMs < deadline };
}
