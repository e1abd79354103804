import { VaultError } from "../../errors.ts";
import type { ExchangeState } from "../../exchange/states.ts";
import { openStates } from "../../exchange/states.ts";
import type { SealingKey, VaultPlace } from "../../secrets/sealing.ts";
import { seal, unseal } from "../../secrets/sealing.ts";
import type { Sealed } from "./generations.ts";
import type { ExchangeRow, VaultRows } from "./rows.ts";
import { journal, lockLost, update, vaultOf } from "./rows.ts";

/** States after which nothing more happens, and the token is useless. */
type FinalState = "acknowledged" | "expired" | "discarded" | "rejected";

export const findExchange = (
  { exchanges }: VaultRows,
  exchangeId: string,
): ExchangeRow | undefined => exchanges.find(({ id }) => id === exchangeId);

export const openExchangeOf = ({
  exchanges,
}: Pick<VaultRows, "exchanges">): ExchangeRow | undefined =>
  exchanges.find(({ state }) => openStates.includes(state));

/** @throws `state` unless the exchange exists and is in one of the states `from`; `no-credentials` if the vault is not known */
export function exchangeIn(
  rows: VaultRows,
  exchangeId: string,
  from: readonly ExchangeState[],
): ExchangeRow {
  vaultOf(rows);
  const row = findExchange(rows, exchangeId);
  if (row === undefined) throw lockLost(rows.uuid, `exchange ${exchangeId} is gone`);
  if (!from.includes(row.state))
    throw lockLost(rows.uuid, `exchange ${exchangeId} is ${row.state}, not ${from.join(" or ")}`);
  return row;
}

/** Ends an exchange, with a journal entry, and erases its token. */
export function endExchange(
  rows: VaultRows,
  row: ExchangeRow,
  state: FinalState,
  detail: Record<string, unknown> = {},
): void {
  journal(rows, state, row.id, { from: row.state, ...detail });
  update(row, { state, token: null, acknowledged_at: state === "acknowledged" ? rows.at : null });
}

/** Zeroes the starts up to an exchange that the service has acknowledged; those after it still count. */
export function zeroStarts(rows: VaultRows, acknowledged: ExchangeRow): void {
  const last = rows.exchanges.indexOf(acknowledged);
  settleCounted(rows.exchanges.slice(0, last + 1));
  const later = rows.exchanges.slice(last + 1).filter((row) => row.counted_start === 1);
  const vault = vaultOf(rows);
  // Fewer where a person has said meanwhile that some have reached the service.
  const unanswered = Math.min(
    vault.unanswered_starts,
    later.filter(({ state }) => state === "intent").length,
  );
  update(vault, { unacked_starts: later.length, unanswered_starts: unanswered });
}

/** Makes sure that these exchanges take back nothing of the counters, which do not have them any more. */
export function settleCounted(exchanges: readonly ExchangeRow[]): void {
  for (const row of exchanges) update(row, { counted_start: 0, counted_failed: 0 });
}

/** Prefix of a token that is sealed as JSON, because a lone surrogate in it has no form in UTF-8. */
const asJson = "\0json:";

export function sealToken(
  key: SealingKey,
  place: Sealed,
  exchangeId: string,
  token: string,
): string {
  const isPlain = token.isWellFormed() && !token.startsWith(asJson);
  return seal(key, tokenPlace(place, exchangeId), isPlain ? token : asJson + JSON.stringify(token));
}

/** @throws `state` if the exchange has no token, or the key does not open it */
export function openToken(key: SealingKey, place: Sealed, row: ExchangeRow): string {
  if (row.token !== null) {
    const token = unseal(key, tokenPlace(place, row.id), row.token);
    return token.startsWith(asJson) ? (JSON.parse(token.slice(asJson.length)) as string) : token;
  }
  throw new VaultError(
    "state",
    `exchange ${row.id} of vault ${place.uuid} has no token: it is ${row.state}`,
    {
      uuid: place.uuid,
      hint: `vault status ${place.uuid}`,
    },
  );
}

const tokenPlace = (place: Sealed, exchangeId: string): VaultPlace =>
  placeOf(place, "exchanges.token", exchangeId);

/** A digest of few possible contents would tell them: it is sealed. */
export const sealDigest = (
  key: SealingKey,
  place: Sealed,
  exchangeId: string,
  digest: string,
): string => seal(key, placeOf(place, "exchanges.digest", exchangeId), digest);

/** @throws `state` if the key does not open it */
export const openDigest = (
  key: SealingKey,
  place: Sealed,
  exchangeId: string,
  sealed: string,
): string => unseal(key, placeOf(place, "exchanges.digest", exchangeId), sealed);

const placeOf = (
  { state, service, uuid }: Sealed,
  column: VaultPlace["column"],
  row: string,
): VaultPlace => ({
  state,
  service,
  uuid,
  column,
  row,
});
