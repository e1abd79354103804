import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import type { Clock } from "../../exchange/ports.ts";
import { checkOurs } from "./open-database.ts";
import { openReadOnly } from "./open-read-only.ts";
import { findPrivateDirectory, statIfThere } from "../../files/private-directory.ts";
import { interruptedRestore } from "../backup/install.ts";
import { migrations } from "./schema.ts";
import { retryBusyDatabase } from "./state-database.ts";
import { onState } from "../../files/state-error.ts";

/**
 * Opens a snapshot of a state's database read-only; null if there is no state. Changes nothing and needs no key. The caller
 * closes it.
 * @throws `state` if the state cannot be read
 */
export async function openForReading(directory: string, clock: Clock): Promise<DatabaseSync | null> {
  if (findPrivateDirectory(directory) === null) return null;
  const path = join(directory, "vault.db");
  if (onState(directory, () => interruptedRestore(directory)) !== null) {
    throw new VaultError("state", `the state cannot be read: ${directory}: a restore was cut off`, {
      hint: "vault status finishes it; then run it again",
    });
  }
  if (onState(path, () => statIfThere(path)) === null) return null;
  return await retryBusyDatabase(clock, path, () => openSnapshot(path));
}

function openSnapshot(path: string): DatabaseSync {
  const db = openReadOnly(path);
  try {
    db.exec("BEGIN");
    checkOurs(db, path, migrations.length);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
