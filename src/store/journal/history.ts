import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../exchange/ports.ts";
import { findPrivateDirectory, statIfThere } from "../../files/private-directory.ts";
import { onState } from "../../files/state-error.ts";
import { openSnapshot } from "../sqlite/open-database.ts";
import { all } from "../sqlite/query.ts";
import { isListed } from "../document.ts";
import { retryBusyDatabase } from "../sqlite/state-database.ts";
import type { JournalLine } from "./items.ts";
import { journalLines } from "./items.ts";
import type { Near, OwnExchange } from "./own-exchanges.ts";
import { OwnExchanges } from "./own-exchanges.ts";

/** A snapshot of what this machine has done. */
export interface StateHistory {
  /** Oldest first. */
  journal(): Iterable<JournalLine>;
  /** Finds an exchange by its external reference, as `OwnExchanges.find`. */
  own(externalRef: string, near?: Near): OwnExchange | undefined;
  /** Labels by UUID, in lower case, of the vaults that have one. */
  labels(): ReadonlyMap<string, string>;
  close(): void;
}

/**
 * Opens the journal read-only; null if there is no state. Creates nothing and needs no key.
 * @throws `state`
 */
export async function openHistory(directory: string, clock: Clock): Promise<StateHistory | null> {
  const db = await openForReading(directory, clock);
  return db === null ? null : historyIn(db);
}

/** What the journal of a database tells; it is closed with the snapshot. */
export function historyIn(db: DatabaseSync): StateHistory {
  const exchanges = new OwnExchanges(db);
  return {
    journal: () => journalLines(db),
    own: (externalRef, near) => exchanges.find(externalRef, near),
    labels: () => labelsIn(db),
    close: () => db.close(),
  };
}

function labelsIn(db: DatabaseSync): ReadonlyMap<string, string> {
  const labelled = all<{ uuid: string; label: string }>(
    db,
    `SELECT uuid, label FROM vaults WHERE ${isListed} AND label IS NOT NULL`,
  );
  return new Map(labelled.map(({ uuid, label }) => [uuid.toLowerCase(), label]));
}

/**
 * Opens a snapshot of a state's database read-only; null if there is no state. Changes nothing and needs no key. The caller
 * closes it.
 * @throws `state` if the state cannot be read
 */
export async function openForReading(
  directory: string,
  clock: Clock,
): Promise<DatabaseSync | null> {
  if (findPrivateDirectory(directory) === null) return null;
  const path = join(directory, "vault.db");
  if (onState(path, () => statIfThere(path)) === null) return null;
  return await retryBusyDatabase(clock, path, () => openSnapshot(path));
}
