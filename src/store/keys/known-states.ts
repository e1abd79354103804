import { appendFileSync, closeSync, existsSync, fsyncSync, openSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { syncFolder } from "../../files/durable-file.ts";
import { ensurePrivateDirectory, statIfThere } from "../../files/private-directory.ts";
import { one, run } from "../sqlite/query.ts";
import type { StateDatabase } from "../sqlite/state-database.ts";
import { onState, systemCode } from "../../files/state-error.ts";

/**
 * Beside a key file: the directories of the states that were begun with it, a line each. A rekey must find them all, because
 * what it does not seal again is lost with the old key.
 */
const listOf = (keyFile: string): string => `${keyFile}.states`;

export function knownStates(keyFile: string): string[] {
  try {
    const lines = readFileSync(listOf(keyFile), "utf8").split("\n");
    // A power loss may leave the length of a line and zeros in its place: nothing was sealed for that one yet.
    return [...new Set(lines.filter((line) => line !== "" && !line.includes("\0")))];
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    return onState(listOf(keyFile), () => {
      throw error;
    });
  }
}

/** Whether a directory holds a state. */
export const isThere = (state: string): boolean => existsSync(join(state, "vault.db"));

/** The same folder by whatever name it is reached. */
export function realFolder(directory: string): string {
  return statIfThere(directory) === null ? directory : realpathSync(directory);
}

/**
 * Notes a state, durably. To be called before the key file is read for the first value that the state seals (whoever drops
 * an old key reads the list after the key file has the new one), and whenever a vault is held, because a state may have been
 * moved, copied or restored.
 */
export function rememberState(keyFile: string, state: string): void {
  const directory = realFolder(state);
  if (knownStates(keyFile).includes(directory)) return;
  ensurePrivateDirectory(dirname(keyFile));
  onState(listOf(keyFile), () => {
    const file = openSync(listOf(keyFile), "a+", 0o600);
    try {
      // Not at the end of a line that was cut short.
      const isCut = !/(^|\n)$/.test(readFileSync(file, "utf8"));
      appendFileSync(file, `${isCut ? "\n" : ""}${directory}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    syncFolder(dirname(keyFile));
  });
}

/** The key file that a state was last used with; null where that is not known. */
export const keyFileOf = (db: DatabaseSync): string | null =>
  one<{ value: string }>(db, "SELECT value FROM meta WHERE name = 'key-file'")?.value ?? null;

export function noteKeyFile(db: DatabaseSync, keyFile: string): void {
  run(db, "INSERT INTO meta (name, value) VALUES ('key-file', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", keyFile);
}

/**
 * Notes the number of the file that the database is. Where it is not the one that was noted, this is a copy, and somebody else may
 * use the original: its credentials count as known elsewhere, which is told once.
 */
export async function noteFile(database: StateDatabase, file: string, { directory, warn }: Place): Promise<void> {
  const noted = await database.read((db) => one<{ value: string }>(db, "SELECT value FROM meta WHERE name = 'file'")?.value);
  if (noted === file) return;
  await database.write((db) => {
    run(db, "INSERT OR REPLACE INTO meta (name, value) VALUES ('file', ?)", file);
    if (noted !== undefined) run(db, "UPDATE credentials SET elsewhere = 1");
  });
  if (noted === undefined) return;
  warn(
    `the state in ${directory} was copied or moved: if the original is still in use, the two replace each other's credentials, and can ` +
      "lock a vault together",
  );
}

interface Place {
  directory: string;
  warn: (message: string) => void;
}
