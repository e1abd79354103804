import type { Actor } from "../../actor.ts";
import { actorWords, isSameUser } from "../../actor.ts";
import type { Acknowledged } from "../../documents/exchange.ts";
import { VaultError } from "../../errors.ts";
import type { Circumstances } from "../../exchange/next-action.ts";
import type { Store } from "../../exchange/ports.ts";
import type { PastExchange, VaultRecord } from "../../exchange/records.ts";
import { againOf, waysOn } from "../../exchange/ways.ts";
import type { Operation } from "../../protocol/endpoints.ts";
import { when } from "../../terminal/time.ts";
import type { Reader } from "../../terminal/who.ts";
import { stateWords } from "../../terminal/who.ts";
import { command } from "../../way.ts";

/** What is needed to tell what became of an exchange that is not open any more. */
export interface Past extends Circumstances {
  store: Pick<Store, "past">;
  reader: Reader;
}

/**
 * Returns an exchange that was acknowledged.
 * @throws `rejected` for one that ended otherwise, `invalid-input` for one that is not known
 */
export async function acknowledgedOne(
  past: Past,
  record: VaultRecord,
  id: string,
): Promise<Acknowledged["exchange"]> {
  const { service, uuid } = record;
  const [found] = await past.store.past(service, uuid, id);
  if (found === undefined)
    throw new VaultError("invalid-input", `--exchange: vault ${uuid} has no exchange "${id}"`, {
      uuid,
      next: [command`vault status ${uuid} --history`],
    });
  const { exchange, changedAt } = found;
  if (exchange.state !== "acknowledged") throw notAcknowledged(past, record, found);
  // A delete is never acknowledged.
  return { ...exchange, operation: exchange.operation as Operation, acknowledgedAt: changedAt };
}

/**
 * Looks, with nothing pending, at the last exchange that this user on this machine began.
 * @throws `rejected` if it has ended, and was not acknowledged
 */
export async function checkOwn(past: Past, record: VaultRecord): Promise<void> {
  const isOwn = ({ by }: { by: Actor | null }): boolean =>
    by !== null && isSameUser(by, past.reader.self);
  const newest = record.exchanges.find(isOwn);
  // The journal takes longer.
  if (newest !== undefined && !hasFailed(newest)) return;
  // Starts that were never sent are not among them.
  const all = await past.store.past(record.service, record.uuid);
  const last = all.find(({ exchange }) => isOwn(exchange));
  if (last !== undefined && hasFailed(last.exchange)) throw notAcknowledged(past, record, last);
}

const hasFailed = ({ state }: { state: string }): boolean =>
  ["expired", "discarded", "rejected"].includes(state);

/** Exit 6 for an exchange that was not acknowledged, with who ended it. */
function notAcknowledged(
  past: Past,
  record: VaultRecord,
  { exchange, changedAt, changedBy }: PastExchange,
): VaultError {
  const { uuid, kind } = record;
  const { operation, state } = exchange;
  const who = changedBy === null ? "" : ` by ${actorWords(changedBy)}`;
  const effect = operation === "update" && hasFailed(exchange) ? "; it did not take effect" : "";
  const what = `${stateWords[state] ?? state}${who} at ${when(changedAt, past.reader.now)}${effect}`;
  return new VaultError("rejected", `the ${operation} was not acknowledged: ${what}`, {
    uuid,
    exchange,
    by: changedBy ?? undefined,
    retry: "after-status",
    next: state === "rejected" ? waysOn(record, past) : [againOf(uuid, { operation, kind })],
  });
}
