import { rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Contents } from "../contents.ts";
import { writeContents } from "./contents.ts";
import { migrate } from "./open-database.ts";
import { run } from "./query.ts";
import { applicationId, migrations, unusableVersion } from "./schema.ts";

/** What the file becomes: a backup, or a state that is just being moved here from another place. */
type Purpose = { type: "backup" } | { type: "incoming"; from: string };

/** Writes contents, sealed for it, into a new database at a path. It is not durable by itself; nothing is left beside it. */
export function writeStateFile(path: string, contents: Contents, purpose: Purpose): void {
  const db = new DatabaseSync(path);
  try {
    db.exec("PRAGMA foreign_keys = ON; BEGIN EXCLUSIVE");
    migrate(db, migrations);
    writeContents(db, contents);
    db.exec(`PRAGMA application_id = ${applicationId}`);
    if (purpose.type === "incoming") {
      run(db, "INSERT INTO meta VALUES ('incoming', ?)", purpose.from);
      db.exec(`PRAGMA user_version = ${unusableVersion}`);
    }
    db.exec("COMMIT");
    if (purpose.type === "incoming") db.exec("PRAGMA journal_mode = WAL");
  } finally {
    db.close();
    for (const ending of ["-journal", "-wal", "-shm"]) rmSync(path + ending, { force: true });
  }
}
