import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { VaultError } from "../../errors.ts";
import { removeLeftovers, replaceFile } from "../../files/durable-file.ts";
import { releaseLockFile, tryLockFile } from "../../files/lock-file.ts";
import { createFolder } from "../../files/private-directory.ts";
import type { State } from "../model/state.ts";

/** The folder of `--data`, which only one sandbox uses at a time. */
export interface DataFolder {
  /** State of an earlier sandbox; undefined in a new folder. */
  readonly state: State | undefined;
  /**
   * Saves the state, durably when it returns; does nothing if the state has not changed.
   * @throws `state` if the file cannot be written; it keeps its former contents
   */
  save(state: State): void;
  /** Releases the folder; the operating system does so when the process dies. */
  close(): void;
}

/**
 * Opens the folder, creating it if needed, and locks it.
 * @throws `busy` if another sandbox uses the folder, `state` if it cannot be used or its file is damaged
 */
export function openDataFolder(folder: string): DataFolder {
  const file = path.join(folder, "sandbox.json");
  try {
    if (!fs.existsSync(folder)) createFolder(path.resolve(folder));
  } catch (cause) {
    throw new VaultError(
      "state",
      `--data ${folder}: cannot be created or used (${codeOf(cause)})`,
      { cause },
    );
  }
  const release = lockFolder(folder);
  try {
    removeLeftovers(file);
    const { state, text } = read(file);
    let saved = text;
    const save = (state: State): void => {
      const next = JSON.stringify(state);
      if (next === saved) return;
      try {
        replaceFile(file, `{"version":1,"sha256":"${digest(next)}","state":${next}}\n`);
      } catch (cause) {
        throw new VaultError("state", `--data ${folder}: cannot be written (${codeOf(cause)})`, {
          cause,
        });
      }
      saved = next;
    };
    return { state, save, close: release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Takes a lock that the operating system releases when the process dies. */
function lockFolder(folder: string): () => void {
  let lock: ReturnType<typeof tryLockFile>;
  try {
    lock = tryLockFile(path.join(folder, "sandbox.lock"));
  } catch (cause) {
    throw new VaultError("state", `--data ${folder}: cannot be locked (${codeOf(cause)})`, {
      cause,
    });
  }
  if (lock === null) {
    throw new VaultError("busy", `--data ${folder}: another sandbox is using it`, {
      hint: "stop it, or choose another directory",
    });
  }
  return () => releaseLockFile(lock);
}

function read(file: string): { state: State | undefined; text: string } {
  let text: string;
  try {
    text = fs.readFileSync(file, "utf8");
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return { state: undefined, text: "" };
    throw new VaultError("state", `${file}: cannot be read (${codeOf(cause)})`, { cause });
  }
  const [, version, sum, state = ""] =
    /^\{"version":(\d+),"sha256":"([0-9a-f]{64})","state":(.*)\}\n$/s.exec(text) ?? [];
  if (version !== undefined && version !== "1") {
    throw new VaultError(
      "state",
      `${file}: written by a newer version of this program (${version})`,
      { hint: "update this program" },
    );
  }
  if (version === undefined || digest(state) !== sum) {
    throw new VaultError("state", `${file}: the file is damaged; it was not changed`, {
      hint: "restore it from a copy, or choose another directory",
    });
  }
  return { state: JSON.parse(state) as State, text: state };
}

const digest = (text: string): string => crypto.createHash("sha256").update(text).digest("hex");

const codeOf = (cause: unknown): string =>
  (cause as NodeJS.ErrnoException).code ?? "unknown reason";
