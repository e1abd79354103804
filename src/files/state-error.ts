import { closeSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { ErrorFacts } from "../errors.ts";
import { isOutOfFiles, outOfFiles, VaultError } from "../errors.ts";
import type { Way } from "../way.ts";
import { command } from "../way.ts";

interface Cause {
  cause: string;
  hint?: string;
  next?: Way[];
}

/** What a backup lacks is only in the folder that is moved. */
function damagedAt(path: string): Cause {
  const folder = dirname(path);
  const aside = `${folder}.damaged`;
  return {
    cause: "it is damaged, or not a database",
    next: [
      { ...command`mv ${folder} ${aside}`, note: "moves the state aside, whole" },
      { ...command`vault state restore FILE`, note: "then" },
    ],
  };
}

const full: Cause = {
  cause: "the disk is full",
  hint: "free some space there, then run it again",
};
const readOnly: Cause = {
  cause: "it is read-only",
  hint: "make it writable, or use another directory with --state",
};
const denied: Cause = {
  cause: "permission denied",
  hint: "give your user access to it (chown, chmod u+rwX), or use another directory with --state",
};
const nowhere: Cause = {
  cause: "it cannot be created there",
  hint: "use another directory with --state",
};
const inTheWay: Cause = {
  cause: "a file is where a directory should be",
  hint: "move that file away, or use another directory with --state",
};

/** By primary result code of SQLite. */
const sqliteCauses: Readonly<Record<number, Cause>> = {
  3: denied,
  8: readOnly,
  10: {
    cause: "reading or writing failed",
    hint: "check the disk (space, quota, file size limit), then run it again",
  },
  13: full,
  14: {
    cause: "it cannot be opened",
    hint: "check that its folder exists, is yours, is writable and has free space, then run it again",
  },
  23: denied,
};

const systemCauses: Readonly<Record<string, Cause>> = {
  EACCES: denied,
  EPERM: denied,
  ENOENT: nowhere,
  EROFS: readOnly,
  ENOSPC: full,
  EDQUOT: full,
  ENOTDIR: inTheWay,
  EEXIST: inTheWay,
  EMFILE: outOfFiles,
  ENFILE: outOfFiles,
};

/** The error for a file or folder of the state, or of something else, that cannot be used. */
export const unusable = (
  path: string,
  why: string,
  facts: ErrorFacts = {},
  what = "the state",
): VaultError => new VaultError("state", `${what} cannot be used: ${path}: ${why}`, facts);

/** The error for a state of which SQLite says what is wrong with it. */
export function damagedState(path: string, problem: string): VaultError {
  const { cause, next } = damagedAt(path);
  return unusable(path, `${cause} (${problem})`, { next });
}

/** Whether SQLite found the database locked by another connection, so that a retry may succeed. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === 5 || code === 6;
}

/** Whether SQLite found that the file is damaged or not a database. */
export function isDamaged(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === 11 || code === 26;
}

/**
 * Converts an error of the database or the file system to `state`, with path, cause and fix. Returns every other error unchanged:
 * it is a bug, or a VaultError already.
 */
export function asStateError(
  path: string,
  error: unknown,
  what = "the state cannot be used",
): unknown {
  if (!(error instanceof Error) || error instanceof VaultError) return error;
  const sqlite = sqliteCode(error);
  const system =
    "code" in error && "syscall" in error && typeof error.code === "string"
      ? error.code
      : undefined;
  if (sqlite === undefined && system === undefined) return error;
  const known =
    sqlite === undefined
      ? systemCauses[system ?? ""]
      : isDamaged(error)
        ? damagedAt(path)
        : (reasonOf(sqlite, path) ?? sqliteCauses[sqlite]);
  const { cause, hint, next }: Cause = known ?? {
    cause: "it failed",
    hint: "check the file and its folder, then run it again",
  };
  const detail = sqlite === undefined ? (system ?? "") : error.message;
  return new VaultError("state", `${what}: ${path}: ${cause} (${detail})`, {
    hint,
    next,
    cause: error,
  });
}

/** Why SQLite cannot open a file, if the machine is at fault: SQLite does not say. */
function reasonOf(sqlite: number, path: string): Cause | undefined {
  if (sqlite !== 14) return undefined;
  try {
    closeSync(openSync(path, "r"));
  } catch (error) {
    return isOutOfFiles(systemCode(error)) ? outOfFiles : undefined;
  }
  return undefined;
}

/** Runs file system or database work on `path`, and converts what it throws with `asStateError`. */
export function onState<T>(path: string, work: () => T, what?: string): T {
  try {
    return work();
  } catch (error) {
    throw asStateError(path, error, what);
  }
}

/** The code of a system error, like ENOENT. */
export const systemCode = (error: unknown): unknown =>
  error instanceof Error && "code" in error ? error.code : undefined;

/** The primary result code of an error from SQLite. */
function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number")
    return undefined;
  return error.errcode & 0xff;
}
