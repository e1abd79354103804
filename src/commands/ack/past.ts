import type { Actor } from "../../actor.ts";
import { actorWords, isSameUser } from "../../actor.ts";
import type { ExchangeSummary } from "../../errors.ts";
import { VaultError } from "../../errors.ts";
import { summarize } from "../../exchange/context.ts";
import type { Clock, Store } from "../../exchange/ports.ts";
import type { ExchangeRecord, PastExchange, VaultRecord } from "../../exchange/records.ts";
import { againOf, waysOn } from "../../exchange/ways.ts";
import type { Acknowledged } from "../../documents/exchange.ts";
import type { Operation } from "../../protocol/endpoints.ts";
import { when } from "../../terminal/time.ts";
import type { Reader } from "../../terminal/who.ts";
import { stateWords } from "../../terminal/who.ts";
import { command } from "../../way.ts";
import type { Policy } from "../../exchange/lockout.ts";

/** What is needed to tell what became of an exchange that is not open any more. */
export interface Past {
  store: Pick<Store, "exchanges" | "past">;
  policy: Policy;
  clock: Pick<Clock, "now">;
  reader: Reader;
}

/** Exchanges of a vault that are looked at before the journal, which takes longer. */
const recent = 20;

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
  const row = (await past.store.exchanges(service, uuid, recent)).find((each) => each.id === id);
  if (row?.state === "acknowledged") return shown(summarize(row), row.acknowledgedAt);
  const [found] = await past.store.past(service, uuid, id);
  if (found === undefined)
    throw new VaultError("invalid-input", `--exchange: vault ${uuid} has no exchange "${id}"`, {
      uuid,
      next: [command`vault status ${uuid} --history`],
    });
  if (found.state !== "acknowledged") throw ended(past, record, found, row);
  return shown(inShort(found), found.changedAt);
}

/** A delete is never acknowledged. */
export const shown = (
  exchange: ExchangeSummary,
  acknowledgedAt: string | null,
): Acknowledged["exchange"] => ({
  ...exchange,
  operation: exchange.operation as Operation,
  acknowledgedAt,
});

/**
 * Looks, with nothing pending, at the last exchange that this user on this machine began.
 * @throws `rejected` if it has ended, and was not acknowledged
 */
export async function checkOwn(past: Past, record: VaultRecord): Promise<void> {
  const { service, uuid } = record;
  const isOwn = ({ by }: { by: Actor | null }): boolean =>
    by !== null && isSameUser(by, past.reader.self);
  const rows = (await past.store.exchanges(service, uuid, recent)).filter(isOwn);
  for (const row of rows) {
    if (!hasFailed(row)) return;
    // One whose start was never sent is none.
    const [found] = await past.store.past(service, uuid, row.id);
    if (found !== undefined) throw ended(past, record, found, row);
  }
  const last = rows.length > 0 ? undefined : (await past.store.past(service, uuid)).find(isOwn);
  if (last !== undefined && hasFailed(last)) throw ended(past, record, last);
}

const hasFailed = ({ state }: Pick<ExchangeRecord, "state">): boolean =>
  ["expired", "discarded", "rejected"].includes(state);

const inShort = ({
  changedAt: _at,
  changedBy: _by,
  ...exchange
}: PastExchange): ExchangeSummary => ({
  ...exchange,
  tokenExpiry: null,
  generation: null,
});

/** Exit 6 for an exchange that was not acknowledged, with who ended it. */
function ended(
  { policy, clock, reader }: Past,
  record: VaultRecord,
  exchange: PastExchange,
  row?: ExchangeRecord,
): VaultError {
  const { uuid } = record;
  const { operation, state, changedAt, changedBy } = exchange;
  const who = changedBy === null ? "" : ` by ${actorWords(changedBy)}`;
  const effect = operation === "update" && hasFailed(exchange) ? "; it did not take effect" : "";
  const what = `the ${operation} was not acknowledged: ${stateWords[state] ?? state}${who} at ${when(changedAt, reader.now)}${effect}`;
  return new VaultError("rejected", what, {
    uuid,
    exchange: row === undefined ? inShort(exchange) : summarize(row),
    by: changedBy ?? undefined,
    retry: "after-status",
    next:
      state === "rejected"
        ? waysOn(record, { policy, clock })
        : [againOf(uuid, { operation, kind: record.kind })],
  });
}
