import type { Holder } from "../actor.ts";
import { VaultError } from "../errors.ts";
import type { Clock, Waiting } from "../exchange/ports.ts";
import { retryWhileBusy } from "../files/retry-while-busy.ts";

/** How long a process that waits for a lock may take to notice that it is free, in milliseconds. */
const longestPauseMs = 100;

/**
 * Tries to take the lock of a vault (without `uuid`, of the whole state) until it succeeds. `obstacle` says what is in the way at the
 * deadline.
 * @throws `busy` at the deadline, `interrupted` when aborted, and what the attempt throws
 */
export async function waitForLock<T>(
  clock: Clock,
  waiting: Waiting,
  uuid: string | undefined,
  attempt: () => T | null | Promise<T | null>,
  obstacle: () => VaultError = () => busy(uuid),
): Promise<T> {
  try {
    waiting.signal.throwIfAborted();
    const result = await retryWhileBusy(clock, waiting, longestPauseMs, attempt);
    if (result !== null) return result;
  } catch (error) {
    throw waiting.signal.aborted ? interrupted(uuid) : error;
  }
  throw obstacle();
}

export const busy = (
  uuid: string | undefined,
  holder?: Holder,
  doing = uuid === undefined ? "using a vault of this state" : `using vault ${uuid}`,
): VaultError =>
  new VaultError("busy", `another process is ${doing}`, {
    uuid,
    ...holder,
    hint: "nothing was sent; run it again when it has finished, or wait longer with --max-wait",
  });

function interrupted(uuid: string | undefined): VaultError {
  return new VaultError(
    "interrupted",
    "interrupted while waiting for another process that is using the vault; nothing was sent",
    {
      uuid,
      retry: "safe",
    },
  );
}
