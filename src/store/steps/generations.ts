import { VaultError } from "../../errors.ts";
import type { Credentials, Placed, Standing } from "../../exchange/records.ts";
import type { Pair } from "../../protocol/answers.ts";
import type { Device } from "../../protocol/fields.ts";
import { fingerprint } from "../../secrets/fingerprints.ts";
import { all, one, run } from "../sqlite/query.ts";
import type { CredentialsRow } from "./rows.ts";
import type { VaultPlace, SealingKey } from "../../secrets/sealing.ts";
import { seal, unseal } from "../../secrets/sealing.ts";
import type { VaultTransaction } from "./vault-transaction.ts";

/** How many superseded generations keep their pair; of older ones the fingerprint stays. */
const keptSuperseded = 5;

type Place = Pick<VaultTransaction, "service" | "uuid">;

/** A pair with the hashedPin that goes with it, if there is one. */
export const withPin = (pair: Pair, hashedPin: string | undefined): Credentials => {
  const { encryptedData, payload } = pair;
  return hashedPin === undefined ? { encryptedData, payload } : { encryptedData, payload, hashedPin };
};

/** The pair of a generation. Raises `state` if there is none, it is no longer kept, or the key does not open it. */
export function openCredentials(key: SealingKey, place: Place, row: CredentialsRow): Credentials {
  if (row.sealed === null) throw notKept(place.uuid, row.generation);
  return JSON.parse(unseal(key, sealedPlace(place, row.generation), row.sealed)) as Credentials;
}

/** A generation that is still kept; raises `state` otherwise. */
export function keptGeneration(tx: Pick<VaultTransaction, "db" | "uuid">, vault: number, generation: number): CredentialsRow {
  const row = one<CredentialsRow>(tx.db, "SELECT * FROM credentials WHERE vault = ? AND generation = ?", vault, generation);
  if (row === undefined || row.sealed === null) throw notKept(tx.uuid, generation);
  return row;
}

/** Adds a pair under the next number, which was never used in this vault before; returns the number. */
export function addGeneration(
  tx: VaultTransaction,
  key: SealingKey,
  vault: number,
  pair: { standing: Standing; credentials: Credentials; device: Device | string | null; elsewhere: boolean; placed?: Placed | null },
): number {
  run(tx.db, "UPDATE vaults SET last_generation = last_generation + 1, forgotten = 0 WHERE id = ?", vault);
  const generation = one<{ n: number }>(tx.db, "SELECT last_generation AS n FROM vaults WHERE id = ?", vault)?.n ?? 0;
  run(
    tx.db,
    "INSERT INTO credentials (vault, generation, standing, proven, sealed, fingerprint, device, created_at, elsewhere, placed) " +
      "VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?)",
    vault,
    generation,
    pair.standing,
    seal(key, sealedPlace(tx, generation), JSON.stringify(pair.credentials)),
    fingerprint(tx.uuid, pair.credentials),
    typeof pair.device === "string" || pair.device === null ? pair.device : JSON.stringify(pair.device),
    tx.at,
    Number(pair.elsewhere),
    pair.placed ?? null,
  );
  return generation;
}

/** Brings what goes beside a kept pair up to date: a hashedPin, a device. What is undefined stays. */
export function bringUpToDate(
  tx: VaultTransaction,
  key: SealingKey,
  row: CredentialsRow,
  { hashedPin, device }: { hashedPin: string | undefined; device: Device | undefined },
): void {
  if (hashedPin !== undefined) {
    const credentials = openCredentials(key, tx, row);
    if (credentials.hashedPin !== hashedPin) reseal(tx, key, row, withPin(credentials, hashedPin));
  }
  if (device !== undefined) {
    run(tx.db, "UPDATE credentials SET device = ? WHERE vault = ? AND generation = ?", JSON.stringify(device), row.vault, row.generation);
  }
}

/** Whether something is given to go beside a kept pair that is not what goes beside it now. */
export function differs(
  tx: VaultTransaction,
  key: SealingKey,
  row: CredentialsRow,
  { hashedPin, device }: { hashedPin: string | undefined; device: Device | undefined },
): boolean {
  const otherPin = hashedPin !== undefined && openCredentials(key, tx, row).hashedPin !== hashedPin;
  return otherPin || (device !== undefined && row.device !== JSON.stringify(device));
}

/** Seals the kept pairs of a vault for its new service. */
export function moveGenerations(tx: VaultTransaction, key: SealingKey, vault: number, from: string): void {
  for (const row of all<CredentialsRow>(tx.db, "SELECT * FROM credentials WHERE vault = ? AND sealed IS NOT NULL", vault)) {
    reseal(tx, key, row, openCredentials(key, { service: from, uuid: tx.uuid }, row));
  }
}

/** A generation with this fingerprint that can be sent. */
export function liveGeneration(tx: VaultTransaction, vault: number, print: string): CredentialsRow | undefined {
  return one<CredentialsRow>(
    tx.db,
    "SELECT * FROM credentials WHERE vault = ? AND fingerprint = ? AND standing IN ('current', 'imported', 'offered') " +
      "ORDER BY generation DESC LIMIT 1",
    vault,
    print,
  );
}

/** A start with this pair has succeeded: every other one that is known is dead, and not to be sent again. */
export function provedByStart(tx: VaultTransaction, vault: number, current: number): void {
  const others = all<CredentialsRow>(
    tx.db,
    "SELECT * FROM credentials WHERE vault = ? AND generation <> ? AND standing <> 'superseded'",
    vault,
    current,
  );
  for (const row of others) supersede(tx, row);
  makeCurrent(tx, vault, current);
}

/**
 * The end call that handed this pair over has succeeded: the one it came from is dead. Nothing is said of others, which
 * may have been imported since.
 */
export function provedByEnd(tx: VaultTransaction, vault: number, current: number, base: number): void {
  const row = one<CredentialsRow>(tx.db, "SELECT * FROM credentials WHERE vault = ? AND generation = ?", vault, base);
  if (row !== undefined) supersede(tx, row);
  makeCurrent(tx, vault, current);
  forgetRefusal(tx, vault, current);
}

function supersede(tx: VaultTransaction, row: CredentialsRow): void {
  setStanding(tx, row.vault, row.generation, "superseded");
  run(tx.db, "INSERT OR IGNORE INTO superseded (vault, fingerprint) VALUES (?, ?)", row.vault, row.fingerprint);
}

function makeCurrent(tx: VaultTransaction, vault: number, current: number): void {
  const sql = "UPDATE credentials SET standing = 'current', proven = 1, refused = 0, placed = NULL WHERE vault = ? AND generation = ?";
  run(tx.db, sql, vault, current);
  revive(tx, vault, current);
  eraseOld(tx, vault);
}

/** A pair that the service has accepted or handed out is not a dead one, whatever it was before. */
export function revive(tx: VaultTransaction, vault: number, generation: number): void {
  run(
    tx.db,
    "DELETE FROM superseded WHERE vault = ? AND fingerprint = (SELECT fingerprint FROM credentials WHERE vault = ? AND generation = ?)",
    vault,
    vault,
    generation,
  );
}

export function setStanding(tx: VaultTransaction, vault: number, generation: number, standing: Standing): void {
  run(tx.db, "UPDATE credentials SET standing = ? WHERE vault = ? AND generation = ?", standing, vault, generation);
}

export function isSuperseded(tx: Pick<VaultTransaction, "db">, vault: number, print: string): boolean {
  return one(tx.db, "SELECT 1 FROM superseded WHERE vault = ? AND fingerprint = ?", vault, print) !== undefined;
}

/** A pair that was refused may be the valid one since. */
export function forgetRefusal(tx: VaultTransaction, vault: number, generation: number): void {
  const print = "(SELECT fingerprint FROM credentials WHERE vault = ? AND generation = ?)";
  run(tx.db, `UPDATE credentials SET refused = 0 WHERE vault = ? AND fingerprint = ${print}`, vault, vault, generation);
  run(tx.db, `DELETE FROM refusals WHERE vault = ? AND fingerprint = ${print}`, vault, vault, generation);
}

function eraseOld(tx: VaultTransaction, vault: number): void {
  run(
    tx.db,
    "UPDATE credentials SET sealed = NULL WHERE vault = ? AND generation IN " +
      "(SELECT generation FROM credentials WHERE vault = ? AND standing = 'superseded' AND sealed IS NOT NULL " +
      "ORDER BY generation DESC LIMIT -1 OFFSET ?)",
    vault,
    vault,
    keptSuperseded,
  );
}

function reseal(tx: VaultTransaction, key: SealingKey, row: CredentialsRow, credentials: Credentials): void {
  const sealed = seal(key, sealedPlace(tx, row.generation), JSON.stringify(credentials));
  run(tx.db, "UPDATE credentials SET sealed = ? WHERE vault = ? AND generation = ?", sealed, row.vault, row.generation);
}

const sealedPlace = ({ service, uuid }: Place, generation: number): VaultPlace => ({
  service,
  uuid,
  column: "credentials.sealed",
  row: String(generation),
});

function notKept(uuid: string, generation: number): VaultError {
  return new VaultError("state", `generation ${generation} of vault ${uuid} is not kept in this state`, {
    vault: uuid,
    hint: `the generations kept: vault status ${uuid} --history`,
  });
}
