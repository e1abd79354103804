import { rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Engine, Row, Table, WholeReader } from "../whole/whole.ts";
import { tables, Whole } from "../whole/whole.ts";
import { marksOf, migrate } from "./open-database.ts";
import { dialect, noteMeta, rowsIn } from "./query.ts";
import { migrations } from "./schema.ts";
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
  const target = new Whole(engineOf(db), marksOf(db), { key: none }, null);
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
    db.exec("COMMIT");
  } finally {
    db.close();
    for (const suffix of ["-journal", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
  }
}
