import { defined } from "../../defined.ts";
import { isLive, type Placed, type Started } from "../../exchange/records.ts";
import { fingerprint } from "../../protocol/fingerprint.ts";
import type { Credentials } from "../../protocol/requests.ts";
import type { Pair } from "../../protocol/answers.ts";
import { seal, unseal, type SealingKey, type VaultPlace } from "../../secrets/sealing.ts";
import { command } from "../../way.ts";
import { VaultError } from "../../errors.ts";
import type { CredentialsRow, ExchangeRow, Place, VaultRows } from "./rows.ts";
import { lockLost, update, vaultOf } from "./rows.ts";

/** The vault that sealed values are bound to. */
export type Owner = Pick<Place, "service" | "uuid">;

export const placeOf = (
  { service, uuid }: Owner,
  column: VaultPlace["column"],
  row: string | number,
): VaultPlace => ({ service, uuid, column, row: String(row) });

export function keyOf({ key }: Place): SealingKey {
  if (key === undefined) throw new TypeError("a vault that is only read seals nothing");
  return key;
}

/**
 * The pair of a generation.
 * @throws `state` if it is no longer kept, or the key does not open it
 */
export function openCredentials(key: SealingKey, place: Owner, row: CredentialsRow): Credentials {
  const { generation, sealed } = row;
  if (sealed === null) throw notKept(place.uuid, generation);
  return JSON.parse(
    unseal(key, placeOf(place, "credentials.sealed", generation), sealed),
  ) as Credentials;
}

export const sealCredentials = (
  key: SealingKey,
  place: Owner,
  generation: number,
  credentials: Credentials,
): string =>
  seal(key, placeOf(place, "credentials.sealed", generation), JSON.stringify(credentials));

function notKept(uuid: string, generation: number | null): VaultError {
  return new VaultError(
    "state",
    `generation ${generation} of vault ${uuid} is not stored in this state`,
    { uuid, next: [command`vault status ${uuid} --history`] },
  );
}

/** Version 0.2.0 sealed a token as it is, or as JSON behind this. */
const former = "\0json:";

/** As JSON, because a lone surrogate in a token has no form in UTF-8. */
export const sealToken = (
  key: SealingKey,
  place: Owner,
  exchangeId: string,
  token: string,
): string => seal(key, placeOf(place, "exchanges.token", exchangeId), JSON.stringify(token));

/** @throws `state` if the exchange has no token, or the key does not open it */
export function openToken(key: SealingKey, place: Owner, row: ExchangeRow): string {
  if (row.token === null)
    throw lockLost(place.uuid, `exchange ${row.id} has no token: it is ${row.state}`);
  const token = unseal(key, placeOf(place, "exchanges.token", row.id), row.token);
  const json = token.startsWith(former) ? token.slice(former.length) : token;
  return json.startsWith('"') ? (JSON.parse(json) as string) : json;
}

/** A pair with its hashedPin, if there is one, and nothing else. */
export const withPin = (
  { encryptedData, payload }: Pair,
  hashedPin: string | undefined,
): Credentials => defined({ encryptedData, payload, hashedPin });

export const findGeneration = (
  { credentials }: VaultRows,
  generation: number | null,
): CredentialsRow | undefined => credentials.find((row) => row.generation === generation);

/** @throws `state` if the generation is no longer kept, `no-credentials` for an unknown vault */
export function keptGeneration(rows: VaultRows, generation: number | null): CredentialsRow {
  vaultOf(rows);
  const row = findGeneration(rows, generation);
  if (row === undefined || row.sealed === null) throw notKept(rows.uuid, generation);
  return row;
}

/** Adds a pair under the next number, which this vault has never used. Returns the row. */
export function addGeneration(
  rows: VaultRows,
  {
    credentials,
    placed = null,
    ...given
  }: Pick<CredentialsRow, "standing" | "device" | "elsewhere"> & {
    credentials: Credentials;
    placed?: Placed | null;
  },
): CredentialsRow {
  const vault = vaultOf(rows);
  const generation = (vault.lastGeneration += 1);
  // The error of a forgotten vault says that it was deleted; with credentials it is another one.
  if (vault.forgotten) update(vault, { forgotten: false, lastError: null });
  const row: CredentialsRow = {
    ...given,
    generation,
    proven: false,
    sealed: sealCredentials(keyOf(rows), rows, generation, credentials),
    fingerprint: fingerprint(rows.uuid, credentials),
    createdAt: rows.at,
    refused: false,
    placed,
    ended: false,
  };
  rows.credentials.push(row);
  return row;
}

export function updateSentWithPair(
  rows: VaultRows,
  row: CredentialsRow,
  { hashedPin, device }: Pick<Started, "device" | "hashedPin">,
): void {
  if (hashedPin !== undefined) {
    const key = keyOf(rows);
    const credentials = openCredentials(key, rows, row);
    if (credentials.hashedPin !== hashedPin)
      row.sealed = sealCredentials(key, rows, row.generation, withPin(credentials, hashedPin));
  }
  if (device !== undefined) row.device = device;
}

/** Whether a pair was superseded, and has not come back to life. */
export const isSpent = (rows: VaultRows, print: string): boolean =>
  rows.superseded.has(print) && liveGeneration(rows, print) === undefined;

/** The newest live generation with this fingerprint. */
export const liveGeneration = (
  { credentials }: VaultRows,
  print: string,
): CredentialsRow | undefined =>
  credentials.findLast((row) => row.fingerprint === print && isLive(row));

/** Clears the refusals of a pair, which may be valid by now. */
export function forgetRefusal(
  { credentials, refusals }: VaultRows,
  { fingerprint: print }: CredentialsRow,
): void {
  for (const row of credentials) if (row.fingerprint === print) row.refused = false;
  for (const [combination, refused] of refusals)
    if (refused === print) refusals.delete(combination);
}
