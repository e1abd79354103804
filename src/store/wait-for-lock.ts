import type { Holder } from "../actor.ts";
import { VaultError } from "../errors.ts";
import type { Clock, Waiting } from "../exchange/ports.ts";
import { retryWhileBusy } from "../files/lock-file.ts";

/** How long a process that waits for a lock may take to notice that it is free, in milliseconds. */
const longestPauseMs = 100;

/**
 * Tries to take the lock of a vault (without `uuid`, of the whole state) until the attempt does not
 * return what is in the way, whose holder `waiting` is told.
 * @throws what is in the way at the deadline, `interrupted` when aborted, what the attempt throws
 */
export async function waitForLock<T>(
  clock: Clock,
  waiting: Waiting,
  uuid: string | undefined,
  attempt: () => T | VaultError | Promise<T | VaultError>,
): Promise<T> {
  let obstacle = busy(uuid);
  try {
    waiting.signal.throwIfAborted();
    const done = await retryWhileBusy(clock, waiting, longestPauseMs, async () => {
      const result = await attempt();
      if (!(result instanceof VaultError)) return { result };
      obstacle = result;
      const { by, since } = result.facts;
      if (by !== undefined && since !== undefined) waiting.tell?.({ by, since });
      return null;
    });
    if (done !== null) return done.result;
  } catch (error) {
    if (!waiting.signal.aborted) throw error;
    throw new VaultError(
      "interrupted",
      "interrupted while waiting for another process that is using the vault; nothing was sent",
      { uuid, retry: "safe" },
    );
  }
  throw obstacle;
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
