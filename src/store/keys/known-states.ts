import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { syncFolder } from "../../files/durable-file.ts";
import { ensurePrivateDirectory, statIfThere } from "../../files/private-directory.ts";
import type { KeySource } from "../../secrets/key-source.ts";
import { metaOf, noteMeta, run } from "../sqlite/query.ts";
import type { StateDatabase } from "../sqlite/state-database.ts";
import { onState, systemCode } from "../../files/state-error.ts";

/**
 * The file beside a key file that lists, one a line, the directories of the states that were begun with it. A rekey must find
 * them all, because what it does not seal again is lost with the old key.
 */
const listOf = (keyFile: string): string => `${keyFile}.states`;

export function knownStates(keyFile: string): string[] {
  try {
    const lines = readFileSync(listOf(keyFile), "utf8").split("\n");
    // After a power loss a line may hold zeros: nothing was sealed for that state yet.
    return [...new Set(lines.filter((line) => line !== "" && !line.includes("\0")))];
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    return onState(listOf(keyFile), () => {
      throw error;
    });
  }
}

/** Whether a directory holds a state. */
export const holdsState = (state: string): boolean => existsSync(join(state, "vault.db"));

/** What is said where the list has a state that is not there; null where it has none, or the state is there. */
export const lossOf = ({ type, path }: KeySource, state: string): string | null =>
  type === "file" && !holdsState(state) && knownStates(path).includes(realFolder(state))
    ? `the state that was in ${state} is not there any more: its disk may not be mounted`
    : null;

/** The real path of a folder, if it exists. */
export function realFolder(directory: string): string {
  return statIfThere(directory) === null ? directory : realpathSync(directory);
}

/**
 * Adds a state to the list, durably. Call it before the key file is read for the first value that the state seals (a rekey reads
 * the list after it wrote the new key), and whenever a vault is locked, because a state may have been moved, copied or restored.
 */
export function rememberState(keyFile: string, state: string): void {
  const directory = realFolder(state);
  if (knownStates(keyFile).includes(directory)) return;
  ensurePrivateDirectory(dirname(keyFile));
  onState(listOf(keyFile), () => {
    const file = openSync(listOf(keyFile), "a+", 0o600);
    try {
      // A line that was cut short must not absorb this one.
      const isCut = !/(^|\n)$/.test(readFileSync(file, "utf8"));
      appendFileSync(file, `${isCut ? "\n" : ""}${directory}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    syncFolder(dirname(keyFile));
  });
}

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
    if (former !== file) run(db, "UPDATE credentials SET elsewhere = 1");
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
