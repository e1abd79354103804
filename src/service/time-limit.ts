import type { GivenUp } from "./causes.ts";

/** The longest delay of a Node timer, which treats a longer one as none. */
const longestTimer = 2 ** 31 - 1;

export interface TimeLimit {
  timeoutMs: number;
  /** Each gives the call up. */
  signals: readonly AbortSignal[];
  canceled: () => GivenUp;
  timedOut: () => GivenUp;
}

/** A call under way, which is given up with a reason. */
export interface LimitedCall {
  signal: AbortSignal;
  /** Waits for something that does not count; after it, the time begins anew. */
  untimed<T>(wait: () => Promise<T>): Promise<T>;
}

/** Does a call, and gives it up when its time has passed or nobody wants it any more. */
export async function withTimeLimit<T>(
  limit: TimeLimit,
  work: (call: LimitedCall) => Promise<T>,
): Promise<T> {
  const { timeoutMs, signals, canceled, timedOut } = limit;
  const call = new AbortController();
  const begin = (): NodeJS.Timeout =>
    setTimeout(() => call.abort(timedOut()), Math.min(timeoutMs, longestTimer));
  const onAbort = (): void => call.abort(canceled());
  for (const signal of signals) {
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  }
  let timer = begin();
  let isOver = false;
  try {
    call.signal.throwIfAborted();
    return await work({
      signal: call.signal,
      async untimed(wait) {
        clearTimeout(timer);
        const result = await wait();
        if (!isOver) timer = begin();
        return result;
      },
    });
  } finally {
    isOver = true;
    clearTimeout(timer);
    for (const signal of signals) signal.removeEventListener("abort", onAbort);
  }
}
