import { VaultError } from "../../errors.ts";
import type { Credentials } from "../../protocol/requests.ts";
import type { SealingKey, VaultPlace } from "../../secrets/sealing.ts";
import { seal, unseal } from "../../secrets/sealing.ts";
import type { CredentialsRow, ExchangeRow, Place } from "./rows.ts";
import { command } from "../../way.ts";

/** The vault that sealed values are bound to. */
type Owner = Pick<Place, "service" | "uuid">;

export const placeOf = (
  { service, uuid }: Owner,
  column: VaultPlace["column"],
  row: string | number,
): VaultPlace => ({ service, uuid, column, row: String(row) });

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

/** Seals a pair as its generation stores it. */
export const sealCredentials = (
  key: SealingKey,
  place: Owner,
  generation: number,
  credentials: Credentials,
): string =>
  seal(key, placeOf(place, "credentials.sealed", generation), JSON.stringify(credentials));

export function notKept(uuid: string, generation: number): VaultError {
  return new VaultError(
    "state",
    `generation ${generation} of vault ${uuid} is not stored in this state`,
    {
      uuid,
      next: [command`vault status ${uuid} --history`],
    },
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
  if (row.token !== null) {
    const token = unseal(key, placeOf(place, "exchanges.token", row.id), row.token);
    const json = token.startsWith(former) ? token.slice(former.length) : token;
    return json.startsWith('"') ? (JSON.parse(json) as string) : json;
  }
  throw new VaultError(
    "state",
    `exchange ${row.id} of vault ${place.uuid} has no token: it is ${row.state}`,
    {
      uuid: place.uuid,
      next: [command`vault status ${place.uuid}`],
    },
  );
}
