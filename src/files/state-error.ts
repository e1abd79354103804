import { dirname } from "node:path";
import { machineTrouble, VaultError, type ErrorFacts } from "../errors.ts";
import { command, noted, type Way } from "../way.ts";

/** What to do with a damaged state. What a backup lacks is only in the folder that is moved. */
export const restoring = (folder: string): Way[] => [
  noted(command`mv ${folder} ${`${folder}.damaged`}`, "moves the state aside, whole"),
  noted(command`vault state restore FILE`, "then"),
];

/** The error for a file or folder of the state, or of something else, that cannot be used. */
export const unusable = (
  path: string,
  why: string,
  facts: ErrorFacts = {},
  what = "the state",
): VaultError => new VaultError("state", `${what} cannot be used: ${path}: ${why}`, facts);

/** The error for a state of which SQLite says what is wrong with it. */
export const damagedState = (path: string, problem: string): VaultError =>
  unusable(path, damaged(problem), { next: restoring(dirname(path)) });

const damaged = (problem: string): string => `it is damaged, or not a database (${problem})`;

/** Whether SQLite found the database locked by another connection, so that a retry may succeed. */
export const isBusy = (error: unknown): boolean => [5, 6].includes(sqliteCode(error));

/** Whether SQLite found that the file is damaged or not a database. */
export const isDamaged = (error: unknown): boolean => [11, 26].includes(sqliteCode(error));

/**
 * Converts an error of the database or the file system to `state`, with its path and its own words. Returns every other error unchanged:
 * it is a bug, or a VaultError already.
 */
export function asStateError(
  path: string,
  error: unknown,
  what = "the state cannot be used",
): unknown {
  if (!(error instanceof Error) || error instanceof VaultError) return error;
  if (sqliteCode(error) === 0 && !("syscall" in error)) return error;
  // Node's end with the call and the path.
  const [said = ""] = error.message.split(", ");
  const told = (why: string, facts: ErrorFacts): VaultError =>
    new VaultError("state", `${what}: ${path}: ${why}`, { ...facts, cause: error });
  if (isDamaged(error)) return told(damaged(said), { next: restoring(dirname(path)) });
  const trouble = machineTrouble[String(systemCode(error))];
  if (trouble !== undefined) return told(`${trouble.cause} (${said})`, { hint: trouble.hint });
  return told(said, {
    hint: "see that its folder is there, is yours, is writable and has free space, then run it again; or use another directory",
  });
}

/** Runs file system or database work on `path`, and converts what it throws with `asStateError`. */
export function onState<T>(path: string, work: () => T, what?: string): T {
  try {
    return work();
  } catch (error) {
    throw asStateError(path, error, what);
  }
}

export const systemCode = (error: unknown): unknown =>
  error instanceof Error && "code" in error ? error.code : undefined;

/** The primary result code of an error from SQLite; 0 for every other error. */
const sqliteCode = (error: unknown): number =>
  error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : 0;
