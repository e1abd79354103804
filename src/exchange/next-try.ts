import type { Clock, Reply } from "./ports.ts";

/** The wait before a call is repeated, and whether it ends before the deadline. */
interface NextTry {
  waitMs: number;
  inTime: boolean;
}

/** Waits as long as the service asks (`Retry-After`, at least 50 ms); else doubles from 200 ms to 10 s. */
export function nextTry({ clock, deadline }: { clock: Clock; deadline: number }, attempt: number, reply?: Reply): NextTry {
  const retryAfter = reply?.type === "answer" ? reply.answer.retryAfter : undefined;
  const waitMs = retryAfter === undefined ? Math.min(10_000, 200 * 2 ** Math.min(attempt, 6)) : Math.max(retryAfter * 1000, 50);
  return { waitMs, inTime: clock.elapsed() + waitMs < deadline };
}
