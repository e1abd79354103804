import { existsSync } from "node:fs";
import { join } from "node:path";
import { VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import { readKeyFile, replaceKeyFile } from "../../secrets/key-file.ts";
import type { KeyEntry } from "../../secrets/key-file.ts";
import type { KeyAccess, NewKey } from "../../secrets/key-source.ts";
import type { Keyring } from "./keyring.ts";
import { neededKeyOf } from "./keyring.ts";
import { holdsState, knownStates, realFolder, rememberState } from "./known-states.ts";
import { createKey } from "../../secrets/key-source.ts";
import { keyIdsIn, openAll, resealAll } from "./sealed-values.ts";
import type { ProfilePlace, SealingKey } from "../../secrets/sealing.ts";
import { deriveFromPassphrase, keyIdOf, seal, unseal } from "../../secrets/sealing.ts";
import { MachineRecord } from "../postgres/machine-record.ts";
import { Outbox } from "../postgres/outbox.ts";
import { schemaVersion, openReadOnly } from "../sqlite/open-database.ts";
import { metaOf } from "../sqlite/query.ts";
import { unusableVersion } from "../schema.ts";
import type { StoreOptions } from "../sqlite/state-connection.ts";
import type { StateDatabase } from "../sqlite/state-database.ts";
import type { Resealing } from "../state.ts";

export interface SealedSecret {
  place: ProfilePlace;
  sealed: string;
}

/** The configuration, as a rekey sees it. */
export interface SealedConfiguration {
  /** Does the work while no other process changes the configuration. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  /** The secrets that are sealed with a key of the key file, read from disk. */
  secrets(): Promise<SealedSecret[]>;
  /** Replaces the secrets, and a `stateKeySource` that names another source. Durable. */
  replace(secrets: readonly SealedSecret[], source: KeyEntry["source"]): Promise<void>;
}

/** What a rekey needs from the store of a state. */
export interface RekeyedStore {
  /** Does the work with all vaults locked. */
  exclusively<T>(waiting: Waiting, work: (database: StateDatabase) => Promise<T>): Promise<T>;
  /** Uses the database without a lock. */
  using<T>(work: (database: StateDatabase) => Promise<T>): Promise<T>;
}

export interface RekeyPlan {
  keyFile: string;
  to: NewKey;
  /** Skip states that are not there; the key file keeps their keys. */
  skipMissing: boolean;
  configuration: SealedConfiguration;
  /** States that the list beside the key file does not have. */
  elsewhere: readonly Resealing[];
  waiting: Waiting;
}

interface Plan extends RekeyPlan {
  /** The state in use. */
  directory: string;
  keyring: Keyring;
  access: KeyAccess | undefined;
  warn: (message: string) => void;
  /** Each state is opened once. */
  open: (directory: string) => RekeyedStore;
  /** States of another key file. */
  foreign: Set<string>;
}

export interface Rekeyed {
  from: string[];
  to: string;
  source: KeyEntry["source"];
  states: string[];
  /** Number of sealed values that were changed. */
  values: number;
}

/**
 * Seals everything with a new key: takes all locks, writes a key file with all keys, seals databases and configuration, reads
 * everything back, drops the old keys that nothing names any more. Killed between any two steps, every value opens with a key of
 * the key file, and another rekey finishes.
 * @throws `state`, before anything is changed, if a key is not available or a value does not open
 */
export async function rekey(
  options: StoreOptions,
  keyring: Keyring,
  open: (directory: string) => RekeyedStore,
  given: RekeyPlan,
): Promise<Rekeyed> {
  const { directory, keySource, clock, warn } = options;
  const stores = new Map<string, RekeyedStore>();
  const openOnce = (path: string): RekeyedStore => {
    const store = stores.get(path) ?? open(path);
    stores.set(path, store);
    return store;
  };
  const plan: Plan = {
    ...given,
    directory,
    keyring,
    access: keySource.access,
    warn: withoutRepeats(warn),
    open: openOnce,
    foreign: new Set(),
  };
  // What this machine keeps of shared states.
  const [machine, outbox] = [new MachineRecord(options), new Outbox(options)];
  const at = new Date(clock.now()).toISOString();
  // One that is asked for says why it cannot be used.
  const asked = given.elsewhere.length === 0 ? realFolder(directory) : null;
  const unused = statesOf(plan).filter((state) => state !== asked && isUnused(state));
  for (const state of unused) plan.foreign.add(state);
  for (const state of statesOf(plan)) if (await isForeign(plan, state)) plan.foreign.add(state);
  const { keyFile, configuration, elsewhere } = plan;
  const keys = new Map<string, SealingKey>();
  // Asks for passphrases first, before another process has to wait for the locks.
  const first = await Promise.all(
    statesOf(plan).map(
      async (state) => await plan.open(state).using(async (db) => await db.read(keyIdsIn)),
    ),
  );
  const secretIds = (await configuration.secrets()).map(({ sealed }) => keyIdOf(sealed));
  const made = await createKey(plan.to, plan.access);
  keys.set(made.key.id, made.key);
  await obtainKeys(plan, keys, [
    ...first.flat(),
    ...secretIds,
    ...elsewhere.map(({ keyId }) => keyId),
  ]);

  return await configuration.exclusively(async () => {
    const done = new Set<string>();
    let kept: KeyEntry[] = [];
    const old = readKeyFile(keyFile, plan.warn) ?? [];
    let values = 0;
    const change = async (
      directories: readonly string[],
      prepare: () => Promise<void>,
      after: () => Promise<void>,
    ): Promise<void> =>
      await lockAll(plan, directories, async (states) => {
        for (const { database } of states)
          await obtainKeys(plan, keys, await database.read(keyIdsIn));
        for (const { database } of states) await database.read((db) => openAll(db, keys));
        for (const { directory } of states) rememberState(keyFile, directory);
        await prepare();
        for (const { database } of states)
          values += await database.write((db) => resealAll(db, keys, made.key, at));
        for (const { directory } of states) done.add(directory);
        await after();
        for (const { database } of states)
          await database.read((db) => openAll(db, new Map([[made.key.id, made.key]])));
        // Unused parts of the file must not keep what the old key opens.
        for (const { database } of states) await database.compact();
        // States that others began after the list was read; from now on they take the new key.
        const late = statesOf(plan).filter((directory) => !done.has(directory));
        if (late.length > 0) await change(late, nothing, nothing);
        else {
          // A missing state may come back, and so may its key be needed.
          const isMissing = missingStates(plan).length > 0;
          const named = new Set([
            ...machine.states().map(({ keyId }) => keyId),
            ...outbox.keyIds(),
            ...unused.map((state) => neededKeyOf(join(state, "vault.db"))),
          ]);
          kept = old.filter(({ id }) => id !== made.entry.id && (isMissing || named.has(id)));
          replaceKeyFile(keyFile, [...kept, made.entry]);
        }
      });
    const secrets = await configuration.secrets();
    await obtainKeys(
      plan,
      keys,
      secrets.map(({ sealed }) => keyIdOf(sealed)),
    );
    const resealed = secrets.map(({ place, sealed }) => ({
      place,
      sealed: seal(made.key, place, openSecret(keys, place, sealed)),
    }));
    const from = [...keys.keys()].filter((id) => id !== made.key.id);
    await change(
      statesOf(plan),
      async () => {
        const absent: KeyEntry[] = from
          .filter((id) => !old.some((entry) => entry.id === id))
          .map((id) => ({ source: "given", id }));
        const former = [...old, ...absent].filter(({ id }) => id !== made.entry.id);
        replaceKeyFile(keyFile, [...former, made.entry]);
        // First: of two machines that do this at once, one fails here.
        for (const state of elsewhere) values += await state.reseal(made.key);
      },
      async () => {
        await configuration.replace(resealed, made.entry.source);
        for (const { place, sealed } of await configuration.secrets())
          unseal(made.key, place, sealed);
        values += resealed.length;
        await outbox.reseal(keyring, made.key);
      },
    );
    await removeFromKeyring(plan, old, [...kept, made.entry]);
    return {
      from: [...keys.keys()].filter((id) => id !== made.key.id),
      to: made.key.id,
      source: made.entry.source,
      states: [...done, ...elsewhere.map(({ shown }) => shown)],
      values,
    };
  });
}

function withoutRepeats(warn: (message: string) => void): (message: string) => void {
  const said = new Set<string>();
  return (message) => {
    if (!said.has(message)) warn(message);
    said.add(message);
  };
}

const nothing = async (): Promise<void> => Promise.resolve();

/** Does the work with all vaults of these states locked, those of each inside of the one before. */
async function lockAll<T>(
  plan: Plan,
  [first, ...rest]: readonly string[],
  work: (states: LockedState[]) => Promise<T>,
  locked: LockedState[] = [],
): Promise<T> {
  if (first === undefined) return await work(locked);
  return await plan
    .open(first)
    .exclusively(
      plan.waiting,
      async (database) =>
        await lockAll(plan, rest, work, [...locked, { directory: first, database }]),
    );
}

/** A state, all of whose vaults this process has locked. */
interface LockedState {
  directory: string;
  database: StateDatabase;
}

/**
 * Whether a state of the list belongs to another key file, from which this one was copied together with the list. Such a state
 * keeps its key.
 */
async function isForeign(plan: Plan, state: string): Promise<boolean> {
  if (`${state}/`.startsWith(`${realFolder(plan.directory)}/`)) return false;
  const other = await plan
    .open(state)
    .using(async (database) => await database.read((db) => metaOf(db, "key-file")));
  if (other === undefined || other === plan.keyFile || !existsSync(other)) return false;
  plan.warn(`the state ${state} uses the key file ${other}, and keeps its key`);
  return true;
}

/** Whether a state was moved, or is just being moved: it keeps its key, as long as it is there. */
function isUnused(state: string): boolean {
  try {
    const db = openReadOnly(join(state, "vault.db"));
    try {
      return schemaVersion(db) === unusableVersion;
    } finally {
      db.close();
    }
  } catch {
    // Whoever opens it says why.
    return false;
  }
}

/** Known states that are not there. */
const missingStates = ({ keyFile }: Pick<Plan, "keyFile">): string[] =>
  knownStates(keyFile).filter((state) => !holdsState(state));

/**
 * The state in use and all others that were begun with this key file.
 * @throws `state` if one is not there, unless `skipMissing`
 */
function statesOf(plan: Plan): string[] {
  const { keyFile, skipMissing, warn } = plan;
  const directory = realFolder(plan.directory);
  const known = knownStates(keyFile).filter((state) => state !== directory);
  const missing = missingStates(plan);
  if (missing.length > 0 && !skipMissing) {
    throw new VaultError(
      "state",
      `a state that is encrypted with this key is missing: ${missing.join(", ")}; nothing was changed`,
      {
        hint: "mount it or put it back, and run it again; if it was moved or is gone for good, use --skip-missing (its key is kept)",
      },
    );
  }
  for (const state of missing) warn(`the state ${state} is missing and keeps its old key`);
  const there = [...(holdsState(directory) ? [directory] : []), ...known.filter(holdsState)];
  return there.filter((state) => !plan.foreign.has(state)).sort();
}

/** Obtains keys. The new passphrase may be that of an earlier rekey that was killed, so it is tried first. */
async function obtainKeys(
  plan: Plan,
  keys: Map<string, SealingKey>,
  ids: readonly string[],
): Promise<void> {
  for (const id of new Set(ids)) {
    if (keys.has(id)) continue;
    const entry = readKeyFile(plan.keyFile, () => undefined)?.find((each) => each.id === id);
    const again =
      entry?.source === "passphrase" &&
      plan.to.source === "passphrase" &&
      plan.to.passphrase !== undefined
        ? await deriveFromPassphrase(plan.to.passphrase, entry)
        : undefined;
    keys.set(id, again?.id === id ? again : await plan.keyring.key(id));
  }
}

function openSecret(
  keys: ReadonlyMap<string, SealingKey>,
  place: ProfilePlace,
  sealed: string,
): string {
  const key = keys.get(keyIdOf(sealed));
  if (key === undefined)
    throw new VaultError(
      "internal",
      `the key of ${place.key} of profile ${place.profile} was not made ready`,
    );
  return unseal(key, place, sealed);
}

/** Removes old keys from the keyring of the operating system. A failure is only a warning. */
async function removeFromKeyring(
  { access, warn }: Plan,
  old: readonly KeyEntry[],
  kept: readonly KeyEntry[],
): Promise<void> {
  for (const { source, id } of old) {
    if (source !== "keyring" || kept.some((each) => each.id === id)) continue;
    try {
      await (await access?.keyring())?.remove(id);
    } catch (error) {
      warn(`the old key ${id} stays in the operating system keyring: ${(error as Error).message}`);
    }
  }
}
