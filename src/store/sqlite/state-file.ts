import { rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Engine, Row, Table, WholeReader } from "../whole/whole.ts";
import { tables, Whole } from "../whole/whole.ts";
import { marksOf, migrate, openReadOnly, schemaVersion } from "./open-database.ts";
import { all, dialect, noteMeta, rowsIn } from "./query.ts";
import { applicationId, insert, migrations } from "./schema.ts";
import { unusableVersion } from "../schema.ts";

/** Runs the SQL of operations on a whole state in a transaction of a connection. */
export const engineOf = (db: DatabaseSync): Engine => ({
  prefix: dialect.prefix,
  query: async (sql, values = []) => Promise.resolve(rowsIn<Row>(db, { sql, values })),
  list: () => ({
    from: "(SELECT value AS item, key AS n FROM json_each($1))",
    column: (name) => `item ->> '${name}'`,
  }),
  setUsable: async (isUsable) => {
    db.exec(`PRAGMA user_version = ${isUsable ? migrations.length : unusableVersion}`);
    return Promise.resolve();
  },
});

/** Copies tables of a state into a new database. */
export async function copyInto(
  db: DatabaseSync,
  source: WholeReader,
  of: readonly Table[] = tables,
): Promise<void> {
  migrate(db);
  noteMeta(db, "state", source.marks.state);
  const none = async () => Promise.reject(new TypeError("nothing is sealed here"));
  const target = new Whole(engineOf(db), marksOf(db), { key: none }, null, none);
  const { predecessors, copies, doubts } = source.marks;
  await target.mark({ predecessors, copies, doubts });
  const key = await source.keyName();
  if (key !== null) await target.nameKey(key, null);
  for (const table of of)
    for await (const rows of source.rows(table)) await target.put(table, rows);
}

/** Writes a state into a new file. It is not durable by itself; nothing is left beside it. */
export async function writeStateFile(path: string, source: WholeReader): Promise<void> {
  const db = new DatabaseSync(path);
  try {
    db.exec("BEGIN EXCLUSIVE");
    await copyInto(db, source);
    db.exec(`PRAGMA application_id = ${applicationId}; COMMIT`);
  } finally {
    db.close();
    for (const suffix of ["-journal", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
  }
}

/** A copy in memory of a database of version 1, whose tables are read alone. */
export function copyInMemory(file: string): DatabaseSync {
  const db = new DatabaseSync(":memory:");
  const from = openReadOnly(file);
  try {
    const defined = all<{ name: string; sql: string }>(
      from,
      "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type = 'table' DESC, type = 'index' DESC",
    );
    for (const { sql } of defined) db.exec(sql);
    for (const { name } of all<{ name: string }>(
      from,
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    ))
      for (const row of all<Row>(from, `SELECT * FROM ${name}`)) insert(db, name, row);
    db.exec(`PRAGMA user_version = ${schemaVersion(from)}`);
    return db;
  } finally {
    from.close();
  }
}
