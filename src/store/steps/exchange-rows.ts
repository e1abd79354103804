import { VaultError } from "../../errors.ts";
import type { ExchangeState } from "../../exchange/states.ts";
import { openStates } from "../../exchange/states.ts";
import { one, run } from "../sqlite/query.ts";
import type { ExchangeRow } from "./rows.ts";
import type { VaultPlace, SealingKey } from "../../secrets/sealing.ts";
import { seal, unseal } from "../../secrets/sealing.ts";
import type { VaultTransaction } from "./vault-transaction.ts";
import { journal, takenOver, vaultOf } from "./vault-transaction.ts";

/** States after which nothing more happens; the token is of no use then. */
type FinalState = "acknowledged" | "expired" | "discarded" | "rejected";

export function findExchange(tx: Pick<VaultTransaction, "db">, vault: number, exchangeId: string): ExchangeRow | undefined {
  return one<ExchangeRow>(tx.db, "SELECT * FROM exchanges WHERE vault = ? AND id = ?", vault, exchangeId);
}

/** The exchange of a step, in one of the states that the step comes from; raises `state` otherwise. */
export function exchangeIn(tx: VaultTransaction, exchangeId: string, from: readonly ExchangeState[]): ExchangeRow {
  const row = findExchange(tx, vaultOf(tx).id, exchangeId);
  if (row === undefined) throw takenOver(tx.uuid, `exchange ${exchangeId} is gone`);
  if (!from.includes(row.state)) throw takenOver(tx.uuid, `exchange ${exchangeId} is ${row.state}, not ${from.join(" or ")}`);
  return row;
}

/** Ends an exchange, in the journal too, and erases its token. */
export function endExchange(tx: VaultTransaction, row: ExchangeRow, state: FinalState, detail: Record<string, unknown> = {}): void {
  const acknowledgedAt = state === "acknowledged" ? tx.at : null;
  run(tx.db, "UPDATE exchanges SET state = ?, token = NULL, acknowledged_at = ? WHERE seq = ?", state, acknowledgedAt, row.seq);
  journal(tx, state, row.id, { from: row.state, ...detail });
}

export function openExchangeOf(tx: VaultTransaction, vault: number): ExchangeRow | undefined {
  return one<ExchangeRow>(
    tx.db,
    `SELECT * FROM exchanges WHERE vault = ? AND state IN (${openStates.map((state) => `'${state}'`).join(", ")})`,
    vault,
  );
}

/** What was counted for starts whose outcome is unknown can no longer be taken back: the counters were zeroed. */
export function settleCounted(tx: VaultTransaction, vault: number): void {
  run(tx.db, "UPDATE exchanges SET counted_start = 0, counted_failed = 0 WHERE vault = ? AND state = 'intent'", vault);
}

/** In front of a token that has no form in UTF-8, a lone surrogate in it, and is sealed as JSON. */
const asJson = "\0json:";

export function sealToken(key: SealingKey, place: Pick<VaultPlace, "service" | "uuid">, exchangeId: string, token: string): string {
  const isPlain = token.isWellFormed() && !token.startsWith(asJson);
  return seal(key, tokenPlace(place, exchangeId), isPlain ? token : asJson + JSON.stringify(token));
}

/** Raises `state` if the exchange has no token, or the key does not open it. */
export function openToken(key: SealingKey, place: Pick<VaultPlace, "service" | "uuid">, row: ExchangeRow): string {
  if (row.token !== null) {
    const token = unseal(key, tokenPlace(place, row.id), row.token);
    return token.startsWith(asJson) ? (JSON.parse(token.slice(asJson.length)) as string) : token;
  }
  throw new VaultError("state", `exchange ${row.id} of vault ${place.uuid} has no token: it is ${row.state}`, {
    vault: place.uuid,
    hint: `see where it stands: vault status ${place.uuid}`,
  });
}

const tokenPlace = ({ service, uuid }: Pick<VaultPlace, "service" | "uuid">, exchangeId: string): VaultPlace => ({
  service,
  uuid,
  column: "exchanges.token",
  row: exchangeId,
});
