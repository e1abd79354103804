import { rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Row, Table } from "../statement.ts";
import type { Keyring } from "../keyring.ts";
import type { Engine } from "../whole/whole.ts";
import { Whole, WholeReader } from "../whole/whole.ts";
import { marksOf, migrate } from "./open-database.ts";
import { dialect, noteMeta, rowsIn } from "./query.ts";

/** Runs the SQL of operations on a whole state in a transaction of a connection. */
export const engineOf = (db: DatabaseSync): Engine => ({
  ...dialect,
  query: async (statement) => Promise.resolve(rowsIn<Row>(db, statement)),
});

/** Reads what is in a database, in a transaction of it or where nobody else writes. */
export const readerOf = (db: DatabaseSync, keyring: Pick<Keyring, "key">): WholeReader =>
  new WholeReader(engineOf(db), marksOf(db), keyring);

/** Copies tables of a state into a new database. */
export async function copyInto(
  db: DatabaseSync,
  source: WholeReader,
  of?: readonly Table[],
): Promise<void> {
  migrate(db);
  noteMeta(db, "state", source.marks.state);
  const none = async () => Promise.reject(new TypeError("nothing is sealed here"));
  const target = new Whole(engineOf(db), marksOf(db), { key: none });
  const { predecessors, copies, doubts } = source.marks;
  await target.mark({ predecessors, copies, doubts });
  await target.takeAll(source, of);
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
