import { VaultError } from "../errors.ts";
import type { Clock, ExchangeContext, Reply } from "./ports.ts";
import type { VaultRecord } from "./records.ts";

/**
 * Reads the locked vault again.
 * @throws `internal` if it is not in the state
 */
export async function currentRecord(context: ExchangeContext): Promise<VaultRecord> {
  const record = await context.session.read();
  if (record === null)
    throw new VaultError("internal", `vault ${context.session.uuid} vanished while it was in use`);
  return record;
}

/** Exit 130 if nothing was sent. A create has no vault yet. */
export const interruptedBefore = (uuid: string | undefined): VaultError =>
  new VaultError("interrupted", "interrupted; nothing is pending here", {
    uuid,
    retry: "safe",
    hint: "run the command again",
  });

/**
 * Returns how long to wait before a call is repeated, after a 429 as after a lost response: as long as the service asks
 * (`Retry-After`, at least 50 ms), else doubling from 200 ms to 10 s; and whether that ends before the deadline, with a chance of another
 * outcome. What waits is start/send, end and single; service/client waits before a call, so that no 429 comes.
 */
export function nextTry(
  { clock, deadline }: { clock: Clock; deadline: number },
  attempt: number,
  reply?: Reply,
): { waitMs: number; inTime: boolean } {
  const retryAfter = reply?.type === "answer" ? reply.answer.retryAfter : undefined;
  const waitMs =
    retryAfter === undefined
      ? Math.min(10_000, 200 * 2 ** Math.min(attempt, 6))
      : Math.max(retryAfter * 1000, 50);
  const lasts = reply?.type === "not-sent" && reply.lasts === true;
  return { waitMs, inTime: !lasts && clock.elapsed() + waitMs < deadline };
}
