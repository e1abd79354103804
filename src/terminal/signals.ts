import { setTimeout } from "node:timers/promises";
import { Interruption } from "../errors.ts";

export interface Interrupts {
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP: finish or hold the exchange under way, then exit. */
  readonly interrupted: AbortSignal;
  /** Aborted by a second signal: exit now. The signal ends the process a second later in any case. */
  readonly killed: AbortSignal;
}

/** Time within which a second signal is the same one: sent by both the terminal and the launcher, or to a process and to its group. */
export const sameSignalMs = 100;

/** Time in which the program can report the state of its exchange after a second signal. */
const lastWordsMs = 1000;

/** Listens to signals from now on. `passOn` says whether one is that of a program in the foreground. */
export function watchInterrupts(
  runtime: NodeJS.Process,
  signals: readonly NodeJS.Signals[],
  passOn: (signal: NodeJS.Signals) => boolean,
): Interrupts {
  const first = new AbortController();
  const second = new AbortController();
  let firstAt = 0;
  const take = (signal: NodeJS.Signals): void => {
    const now = runtime.uptime() * 1000;
    if (passOn(signal)) return;
    if (!first.signal.aborted) {
      firstAt = now;
      first.abort(new Interruption(signal));
    } else if (now - firstAt > sameSignalMs && !second.signal.aborted) {
      second.abort(new Interruption(signal));
      globalThis
        .setTimeout(() => {
          for (const each of signals) runtime.removeAllListeners(each);
          runtime.kill(runtime.pid, signal);
        }, lastWordsMs)
        .unref();
    }
  };
  for (const signal of signals) runtime.on(signal, take);
  return { interrupted: first.signal, killed: second.signal };
}

/** Settles as the promise does, or rejects with the signal's reason as soon as it is aborted. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return Promise.race([aborted, promise]).finally(() =>
    signal.removeEventListener("abort", onAbort),
  );
}

const longestTimer = 2 ** 31 - 1;

/** Resolves after a time, or rejects with the signal's reason as soon as it is aborted. */
export async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  try {
    await setTimeout(Math.min(milliseconds, longestTimer), undefined, { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
