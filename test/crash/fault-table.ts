/** What becomes of a get with a proven pair when the service misbehaves at one of its two calls. */
export interface FaultCase {
  action: string;
  /** The service had processed the call before the fault. */
  processed: boolean;
  /** Exit codes: the fault happens at one start, at every start, at one end call, at every end call. */
  start: number;
  starts: number;
  end: number;
  ends: number;
}

/** Sent, and no whole answer came back: DESIGN, What is retried. */
const unanswered = { start: 0, starts: 10, ends: 11 };

/** An end call that was processed and not answered is sent again; its token is used up by then. */
export const faultCases: readonly FaultCase[] = [
  { action: "drop-before", processed: false, ...unanswered, end: 0 },
  { action: "drop-after", processed: true, ...unanswered, end: 12 },
  { action: "cut", processed: true, ...unanswered, end: 12 },
  { action: "hang", processed: true, ...unanswered, end: 12 },
  { action: "delay=2s", processed: true, ...unanswered, end: 12 },
  { action: "garbage", processed: true, ...unanswered, end: 12 },
  { action: "status=500", processed: false, ...unanswered, end: 0 },
  { action: "status=503", processed: false, ...unanswered, end: 0 },
  { action: "error-after=502", processed: true, ...unanswered, end: 12 },
  { action: "status=429", processed: false, start: 0, starts: 9, end: 0, ends: 11 },
  { action: "status=429,retry-after=0", processed: false, start: 0, starts: 9, end: 0, ends: 11 },
  { action: "no-credentials", processed: true, start: 13, starts: 13, end: 0, ends: 0 },
  { action: "wrong-types", processed: true, start: 0, starts: 0, end: 0, ends: 0 },
];

/** By the contract; the kinds of error are the same for each exit code. */
export const codeOf: Readonly<Record<number, string>> = {
  8: "guard",
  9: "rate-limited",
  10: "network",
  11: "pending",
  12: "in-doubt",
  13: "service",
};
