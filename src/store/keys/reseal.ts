import type { DatabaseSync } from "node:sqlite";
import { append } from "../journal/journal.ts";
import { all, run } from "../sqlite/query.ts";
import type { SealingKey, VaultPlace } from "../../secrets/sealing.ts";
import { keyIdOf, seal, unseal } from "../../secrets/sealing.ts";

interface SealedRow {
  service: string;
  uuid: string;
  vault: number;
  /** The generation, or the exchange id. */
  row: number | string;
  sealed: string;
}

const columns = {
  "credentials.sealed": {
    select:
      "SELECT v.service, v.uuid, c.vault, c.generation AS row, c.sealed FROM credentials c JOIN vaults v ON v.id = c.vault WHERE c.sealed IS NOT NULL",
    update: "UPDATE credentials SET sealed = ? WHERE vault = ? AND generation = ?",
  },
  "exchanges.token": {
    select:
      "SELECT v.service, v.uuid, e.vault, e.id AS row, e.token AS sealed FROM exchanges e JOIN vaults v ON v.id = e.vault WHERE e.token IS NOT NULL",
    update: "UPDATE exchanges SET token = ? WHERE vault = ? AND id = ?",
  },
} as const;

const columnNames = ["credentials.sealed", "exchanges.token"] as const;

/** The ids of all keys that a database needs. */
export function keyIdsIn(db: DatabaseSync): string[] {
  const ids = columnNames.flatMap((column) => all<SealedRow>(db, columns[column].select).map(({ sealed }) => keyIdOf(sealed)));
  return [...new Set(ids)];
}

/** Opens every sealed value and returns how many there are. Raises `state` for the first that does not open. */
export function openAll(db: DatabaseSync, keys: ReadonlyMap<string, SealingKey>): number {
  let count = 0;
  for (const column of columnNames) {
    for (const found of all<SealedRow>(db, columns[column].select)) {
      open(keys, column, found);
      count += 1;
    }
  }
  return count;
}

/** Seals everything with `to`, in the transaction of the caller; a line in the journal for each vault. Returns how many values changed. */
export function resealAll(db: DatabaseSync, keys: ReadonlyMap<string, SealingKey>, to: SealingKey, at: string): number {
  const touched = new Map<number, { service: string; uuid: string; from: string; values: number }>();
  for (const column of columnNames) {
    for (const found of all<SealedRow>(db, columns[column].select)) {
      const from = keyIdOf(found.sealed);
      if (from === to.id) continue;
      run(db, columns[column].update, seal(to, place(column, found), open(keys, column, found)), found.vault, found.row);
      const values = (touched.get(found.vault)?.values ?? 0) + 1;
      touched.set(found.vault, { service: found.service, uuid: found.uuid, from, values });
    }
  }
  let count = 0;
  for (const { service, uuid, from, values } of touched.values()) {
    append(db, { at, service, uuid, exchange: null, event: "rekeyed", detail: { from, to: to.id, values } });
    count += values;
  }
  return count;
}

function open(keys: ReadonlyMap<string, SealingKey>, column: VaultPlace["column"], found: SealedRow): string {
  const [any] = keys.values();
  const key = keys.get(keyIdOf(found.sealed)) ?? any;
  // With another key it says which one it needs.
  return unseal(key ?? { id: "none", bytes: Buffer.alloc(32) }, place(column, found), found.sealed);
}

const place = (column: VaultPlace["column"], { service, uuid, row }: SealedRow): VaultPlace => ({
  service,
  uuid,
  column,
  row: String(row),
});
