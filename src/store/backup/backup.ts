import { accessSync, constants, lstatSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { VaultError } from "../../errors.ts";
import { replaceLater } from "../../files/durable-file.ts";
import { statIfThere } from "../../files/private-directory.ts";
import { asStateError, onState, systemCode } from "../../files/state-error.ts";
import type { KeySource } from "../../secrets/key-source.ts";
import type { JournalEntry } from "../journal/journal.ts";
import type { BackupFacts } from "../state.ts";
import type { Holdings } from "./check.ts";

interface Writing {
  /** Absolute path. */
  file: string;
  /** Time of the backup, in milliseconds since the epoch. */
  now: number;
  warn: (message: string) => void;
  /** Writes a backup into an empty file, which need not be durable. */
  copy: (temporary: string) => Promise<Holdings>;
  /** Records it in the journal, and that all credentials are known elsewhere now. */
  record: (entry: JournalEntry) => Promise<void>;
}

/** Writes a backup, as `WholeState.backup` says. */
export async function writeBackup({
  file,
  now,
  warn,
  copy,
  record,
}: Writing): Promise<BackupFacts> {
  const at = new Date(now).toISOString();
  try {
    const holdings = await replaceLater(file, async (temporary) => {
      const copied = await copy(temporary);
      const { vaults, pending, keyId } = copied;
      const detail = { file, vaults, pending, keyId };
      const entry = { at, service: "", uuid: "", exchange: null, event: "backup", detail };
      // Before it is there: whoever dies in between leaves no file that the state does not know of.
      await record(entry).catch((error: unknown) => {
        warn(
          `the backup is complete, but the journal could not be written: ${(error as Error).message}`,
        );
      });
      return copied;
    });
    return { ...holdings, file, bytes: statSync(file).size, at };
  } catch (error) {
    throw asStateError(file, error, "the backup cannot be written");
  }
}

/** @throws `invalid-input` for a file that cannot be written or, without `force`, exists */
export function checkTarget(
  { directory, keySource }: { directory: string; keySource: KeySource },
  file: string,
  force: boolean,
): void {
  const refuse = (why: string, hint: string): VaultError =>
    new VaultError("invalid-input", `FILE: ${why}; nothing was written`, { hint });
  const elsewhere = "name a file in a folder that you can write to, such as ./vault-backup.db";
  const folder = dirname(file);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    const missing = systemCode(error) === "ENOENT";
    throw refuse(
      `the folder ${folder} ${missing ? "does not exist" : `cannot be written to (${String(systemCode(error))})`}`,
      elsewhere,
    );
  }
  const real = join(realpathSync(folder), basename(file));
  if (
    onState(directory, () => statIfThere(directory)) !== null &&
    `${dirname(real)}/`.startsWith(`${realpathSync(directory)}/`)
  ) {
    throw refuse(
      `${file} is in the folder of the state itself`,
      "name another file, best on another disk",
    );
  }
  const there = lstatSync(file, { throwIfNoEntry: false }) ?? null;
  if (there === null) return;
  if (!there.isFile())
    throw refuse(
      `${file} is ${there.isSymbolicLink() ? "a symbolic link" : "not a file"}`,
      elsewhere,
    );
  const key = keySource.type === "file" ? statIfThere(resolve(keySource.path)) : null;
  if (key?.ino === there.ino && key.dev === there.dev)
    throw refuse(`${file} is the key file`, elsewhere);
  if (!force)
    throw refuse(`${file} already exists`, "name another file, or replace this one with --force");
}
