import type { GivenUp } from "./causes.ts";

/** The longest delay of a Node timer, which treats a longer one as none. */
const longestTimer = 2 ** 31 - 1;

export interface TimeLimit {
  timeoutMs: number;
  /** Each gives the work up. */
  signals: readonly AbortSignal[];
  canceled: () => GivenUp;
  timedOut: () => GivenUp;
}

/**
 * Does work, and gives it up when its time has passed or nobody wants it any more: rejects at once,
 * and aborts the signal of the work.
 */
export async function withTimeLimit<T>(
  { timeoutMs, signals, canceled, timedOut }: TimeLimit,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const time = AbortSignal.timeout(Math.min(timeoutMs, longestTimer));
  const givenUp = AbortSignal.any([time, ...signals]);
  try {
    return await unlessAborted(givenUp, work);
  } catch (error) {
    if (!givenUp.aborted || error !== givenUp.reason) throw error;
    throw error === time.reason ? timedOut() : canceled();
  }
}

/** Does work, and rejects with the reason of the signal as soon as it is aborted. */
export async function unlessAborted<T>(
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work(signal), aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
