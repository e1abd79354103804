import { rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { SealingKey } from "../../secrets/sealing.ts";
import type { ContentRow, Contents } from "../contents.ts";
import { nothing } from "../contents.ts";
import type { Engine, WholeReader } from "../whole/whole.ts";
import { Whole } from "../whole/whole.ts";
import { marksOf, migrate } from "./open-database.ts";
import { dialect, noteMeta, rowsIn } from "./query.ts";
import { applicationId, migrations } from "./schema.ts";
import { unusableVersion } from "../schema.ts";

/** Runs the SQL of operations on a whole state in a transaction of a connection. */
export const engineOf = (db: DatabaseSync): Engine => ({
  prefix: dialect.prefix,
  isShared: false,
  ids: dialect.texts("$1"),
  query: async (sql, values = []) => Promise.resolve(rowsIn<ContentRow>(db, { sql, values })),
  list: () => ({
    from: "(SELECT value AS item, key AS n FROM json_each($1))",
    column: (name) => `item ->> '${name}'`,
  }),
  setUsable: async (isUsable) => {
    db.exec(`PRAGMA user_version = ${isUsable ? migrations.length : unusableVersion}`);
    return Promise.resolve();
  },
});

/** Copies a state, or what `of` leaves of it, into a new database, sealed with a key. */
export async function copyInto(
  db: DatabaseSync,
  source: WholeReader,
  key: SealingKey,
  of: (part: Contents) => Contents = (part) => ({ ...part, journal: [] }),
): Promise<void> {
  migrate(db, migrations);
  noteMeta(db, "state", source.marks.state);
  noteMeta(db, "key", key.id);
  const known = async () => Promise.resolve(key);
  const target = new Whole(engineOf(db), marksOf(db), { key: known }, key.id, known);
  await target.mark({ predecessors: source.marks.predecessors });
  for await (const part of source.parts()) await target.write(nothing(), of(part));
  for await (const entries of source.journal()) await target.append(entries);
}

/** Writes a state into a new file, sealed with a key. It is not durable by itself; nothing is left beside it. */
export async function writeStateFile(
  path: string,
  source: WholeReader,
  key: SealingKey,
): Promise<void> {
  const db = new DatabaseSync(path);
  try {
    db.exec("PRAGMA foreign_keys = ON; BEGIN EXCLUSIVE");
    await copyInto(db, source, key);
    db.exec(`PRAGMA application_id = ${applicationId}; COMMIT`);
  } finally {
    db.close();
    for (const suffix of ["-journal", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
  }
}
