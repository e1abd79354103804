import type { Clock, Reply } from "./ports.ts";

/** When a call may be repeated: after so many milliseconds, which end before the deadline or do not. */
interface NextTry {
  waitMs: number;
  inTime: boolean;
}

/** What the service asks for (`Retry-After`, at least 50 ms); else doubling from 200 ms to 10 s. */
export function nextTry({ clock, deadline }: { clock: Clock; deadline: number }, attempt: number, reply?: Reply): NextTry {
  const retryAfter = reply?.type === "answer" ? reply.answer.retryAfter : undefined;
  const waitMs = retryAfter === undefined ? Math.min(10_000, 200 * 2 ** Math.min(attempt, 6)) : Math.max(retryAfter * 1000, 50);
  return { waitMs, inTime: clock.elapsed() + waitMs < deadline };
}
