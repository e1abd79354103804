import type { DatabaseSync } from "node:sqlite";
import { raising } from "../document.ts";
import { dialect, metaOf, noteMeta, rowsIn } from "./query.ts";
import type { StateDatabase } from "./state-database.ts";

/**
 * Records the inode number of the database. If another number is on record, the state was copied and the original may still be in
 * use: its credentials are marked as known elsewhere, with one warning.
 */
export async function noteFile(
  database: StateDatabase,
  file: string,
  { directory, warn }: Place,
): Promise<void> {
  const noted = (db: DatabaseSync): string | undefined => metaOf(db, "file");
  if ((await database.read(noted)) === file) return;
  const isCopy = await database.write((db) => {
    // Read again: of several that come here at the same time, one marks the credentials.
    const former = noted(db) ?? file;
    noteMeta(db, "file", file);
    if (former !== file) rowsIn(db, raising(dialect, "copies"));
    return former !== file;
  });
  if (!isCopy) return;
  warn(
    `the state in ${directory} was copied or moved: if the original is still in use, the two replace each other's credentials, and can ` +
      "lock a vault together",
  );
}

interface Place {
  directory: string;
  warn: (message: string) => void;
}
