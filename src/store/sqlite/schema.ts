import type { DatabaseSync } from "node:sqlite";
import { sharedTables, inserting } from "../statement.ts";
import type { Former } from "../version-1.ts";
import { documentsOf, droppingFormer, formerTable, formerTables, makingWay } from "../version-1.ts";
import type { Row, Table } from "../statement.ts";
import { keyIdOf } from "../../secrets/sealing.ts";
import { mapSealed } from "../document.ts";
import { all, dialect, noteMeta, one, rowsIn } from "./query.ts";

/** "vsst" in the file header, which distinguishes a state from any other SQLite database. */
export const applicationId = 0x76737374;

const tables = `
  -- Facts about the state itself: journal-from, before which journal entries may be removed; state, its id; the other marks of
  -- whole/marks.ts.
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  INSERT OR IGNORE INTO meta VALUES ('state', lower(hex(randomblob(16))));

  ${sharedTables("", {
    id: "INTEGER",
    lease: "",
    journalSeq: "INTEGER PRIMARY KEY AUTOINCREMENT",
    real: "REAL",
    time: "int",
    strict: " STRICT",
    keyed: " STRICT, WITHOUT ROWID",
  })};
  CREATE TRIGGER IF NOT EXISTS journal_is_never_changed BEFORE UPDATE ON journal
  BEGIN SELECT RAISE (ABORT, 'the journal is append-only'); END;
  CREATE TRIGGER IF NOT EXISTS journal_is_only_pruned BEFORE DELETE ON journal
  WHEN OLD.at >= coalesce((SELECT value FROM meta WHERE name = 'journal-from'), '')
  BEGIN SELECT RAISE (ABORT, 'the journal is append-only'); END;
`;

/** Whether the tables are those of version 1. */
const isFormer = (db: DatabaseSync): boolean =>
  one(db, "SELECT 1 FROM sqlite_master WHERE name = 'credentials'") !== undefined;

/** Makes the tables, or makes those of version 1 anew. */
function second(db: DatabaseSync): void {
  const isAnew = isFormer(db);
  if (isAnew) db.exec(makingWay(""));
  db.exec(tables);
  if (isAnew) takeFormer(db);
}

function takeFormer(db: DatabaseSync): void {
  const read = (table: keyof Former): Row[] => all<Row>(db, formerTable("", table));
  const former = Object.fromEntries(
    formerTables.map((table) => [table, read(table)]),
  ) as unknown as Former;
  const { vaults, spent, runs } = documentsOf(former);
  for (const vault of vaults)
    mapSealed(vault, (_, value) => {
      noteMeta(db, "key", keyIdOf(value));
      return value;
    });
  for (const [table, rows] of Object.entries({ vaults, spent, runs }))
    for (const row of rows) {
      const sql = inserting(dialect, table as Table, Object.keys(row), "$1");
      rowsIn(db, { sql, values: [JSON.stringify([row])] });
    }
  db.exec(`${droppingFormer("")} DROP TABLE locks`);
}

/**
 * The migration to version n is at position n, from 1. A published one is never changed, only
 * followed by another. A new state begins with the second.
 */
export const migrations: (string | ((db: DatabaseSync) => void))[] = ["", second];
