import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { asVaultError, VaultError } from "../../errors.ts";
import { diskOf } from "../../files/disk.ts";
import { statIfThere } from "../../files/private-directory.ts";
import { onState } from "../../files/state-error.ts";
import { readKeyFile } from "../../secrets/key-file.ts";
import type { KeySource } from "../../secrets/key-source.ts";
import { keyPlace } from "../../secrets/key-source.ts";
import { unseal } from "../../secrets/sealing.ts";
import { backupFile, problemsOf } from "../backup/backup.ts";
import { sealedValues } from "../keys/sealed-values.ts";
import { Keyring, neededKeyOf } from "../keys/keyring.ts";
import { lossOf } from "../keys/known-states.ts";
import type { DirectoryFacts, KeyFacts, StateFacts } from "../state.ts";
import type { Opening } from "./open-database.ts";
import { checkOurs, openReadOnly } from "./open-database.ts";
import { all, clockJump, dialect, one, rowsIn } from "./query.ts";
import { recordsIn, vaultsWhere } from "../read-vaults.ts";
import { isListed } from "../steps/rows.ts";
import type { StoreOptions } from "./state-connection.ts";
import type { VaultLocks } from "./vault-lock.ts";
import { command } from "../../way.ts";

/** Inspects a state: opens its database read-only, creates nothing and fixes nothing. May ask for a passphrase. Never throws. */
export async function inspectState(
  options: StoreOptions,
  opening: Opening,
  locks: Pick<VaultLocks, "holders">,
): Promise<StateFacts> {
  const { directory, keySource, keys } = options;
  const { path } = opening;
  const files = [path, `${path}-wal`, join(directory, "locks")];
  // So that nothing later prompts. Leaves a bad file to later checks.
  const unready = await (async () => {
    const needed = neededKeyOf(path);
    if (needed !== null && keys?.has(needed) !== true)
      await new Keyring(keySource, path, () => undefined, keys).ensure(needed);
  })().then(() => null, asVaultError);
  let found: ReturnType<typeof read> | null = null;
  let problem: VaultError | null = null;
  try {
    if (onState(path, () => statIfThere(path)) !== null)
      found = onState(path, () => read(path, opening.migrations.length, options, locks));
    else problem = missing(keySource, directory);
  } catch (error) {
    problem =
      error instanceof VaultError
        ? error
        : new VaultError("state", `the state cannot be used: ${path}: ${String(error)}`);
  }
  const key = found?.key ?? keyFacts(options, null, []);
  const silent = key.id === null && key.problem === null ? await keyringProblem(keySource) : null;
  return {
    problem,
    vaults: found?.vaults ?? null,
    locks: found?.locks ?? [],
    queues: found?.queues ?? [],
    tokenSeconds: found?.tokenSeconds ?? null,
    place: {
      type: "directory",
      directory,
      damage: found?.damage ?? [],
      tooOpen: [
        ...tooOpenOf([directory], 0o700),
        ...tooOpenOf(files.slice(0, 2), 0o600),
        ...tooOpenOf(keyFiles(keySource), 0o600),
        // Listing the folder of the key reveals nothing, so only write permission counts.
        ...tooOpenOf(keyFiles(keySource).map(dirname), 0o755, 0o022),
      ],
      unwritable: unwritableOf([directory, ...files]),
      disk: diskOf(directory),
      keyDisk: keySource.type === "file" && key.file !== null ? diskOf(dirname(key.file)) : null,
      key: { ...key, problem: silent ?? (key.problem === null ? null : (unready ?? key.problem)) },
      lastBackup: found?.lastBackup ?? null,
    },
  };
}

/** The error for a state that was there, and is not any more. */
function missing(source: KeySource, directory: string): VaultError | null {
  const loss = lossOf(source, directory);
  return loss === null
    ? null
    : new VaultError("state", loss, {
        hint: "mount it",
        next: [command`vault state restore FILE`],
      });
}

/** Why the first key could not be created in the keyring of the operating system, if it should be. */
async function keyringProblem(source: KeySource): Promise<VaultError | null> {
  if (source.type !== "file" || source.demand !== "keyring") return null;
  try {
    await (await source.access?.keyring())?.get("none");
    return null;
  } catch (error) {
    return asVaultError(error);
  }
}

function read(
  path: string,
  newest: number,
  options: StoreOptions,
  locks: Pick<VaultLocks, "holders">,
) {
  const db = openReadOnly(path);
  try {
    db.exec("BEGIN");
    checkOurs(db, path, newest);
    const damage = problemsOf(db);
    const token = one<{ startedAt: string; tokenExpiry: string }>(
      db,
      "SELECT startedAt, tokenExpiry FROM exchanges WHERE tokenExpiry IS NOT NULL ORDER BY seq DESC LIMIT 1",
    );
    const backup = one<{ at: string; file: string }>(
      db,
      "SELECT at, detail ->> 'file' AS file FROM journal WHERE event = 'backup' ORDER BY seq DESC LIMIT 1",
    );
    return {
      damage,
      vaults: recordsIn(
        vaultsWhere(dialect, isListed, []).map((statement) => rowsIn(db, statement)),
        "",
        null,
      ),
      locks: locks.holders(),
      queues: all<{ application: string; next: number }>(
        db,
        "SELECT application, next FROM limiter WHERE reservedAt <= ?",
        options.clock.now() + clockJump,
      ),
      tokenSeconds: token === undefined ? null : secondsBetween(token.startedAt, token.tokenExpiry),
      lastBackup: backup === undefined ? null : { ...backup, now: backupFile(backup.file) },
      key: keyFacts(options, db, damage),
    };
  } finally {
    db.close();
  }
}

/** Tries the key on every sealed value. A missing key is a problem only if there are any. Never throws. */
function keyFacts(
  { keySource, directory, keys }: StoreOptions,
  db: DatabaseSync | null,
  damage: readonly string[],
): KeyFacts {
  const facts: KeyFacts = { ...keyPlace(keySource), id: null, opened: 0, problem: null };
  try {
    // Permissions are reported as `tooOpen`.
    const silent = (): void => undefined;
    const sealed = db === null || damage.length > 0 ? [] : sealedValues(db);
    if (db === null || sealed.length === 0) {
      const newest =
        keySource.type === "file" ? readKeyFile(keySource.path, silent)?.at(-1) : keySource.key;
      facts.id = newest?.id ?? null;
      return facts;
    }
    const key = new Keyring(keySource, directory, silent, keys).fitting(db);
    facts.id = key.id;
    for (const { place, sealed: value } of sealed) {
      unseal(key, place, value);
      facts.opened += 1;
    }
  } catch (error) {
    facts.problem =
      error instanceof VaultError
        ? error
        : new VaultError("state", `the key cannot be used: ${String(error)}`);
  }
  return facts;
}

function secondsBetween(from: string, to: string): number | null {
  const seconds = (Date.parse(to) - Date.parse(from)) / 1000;
  return seconds > 0 ? seconds : null;
}

const keyFiles = (source: KeySource): string[] => (source.type === "file" ? [source.path] : []);

function tooOpenOf(
  paths: readonly string[],
  wanted: number,
  unwanted = 0o077,
): DirectoryFacts["tooOpen"] {
  return paths.flatMap((path) => {
    const mode = modeOf(path);
    return mode === null || (mode & unwanted) === 0 ? [] : [{ path, mode, wanted }];
  });
}

function modeOf(path: string): number | null {
  try {
    const stats = statIfThere(path);
    return stats === null ? null : stats.mode & 0o777;
  } catch {
    return null;
  }
}

function unwritableOf(paths: readonly string[]): DirectoryFacts["unwritable"] {
  for (const path of paths.filter((each) => existsSync(each))) {
    try {
      accessSync(path, constants.R_OK | constants.W_OK);
      if (path.endsWith("locks"))
        for (const name of readdirSync(path))
          accessSync(join(path, name), constants.R_OK | constants.W_OK);
    } catch (error) {
      return { path, code: (error as NodeJS.ErrnoException).code ?? "" };
    }
  }
  return null;
}
