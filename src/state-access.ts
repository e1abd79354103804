import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import type { Configuration } from "./settings/config-file.ts";
import { readConfiguration, writeConfiguration } from "./settings/config-file.ts";
import { secretKeys } from "./settings/config-keys.ts";
import { waysToSet } from "./settings/definitions.ts";
import type { Profile } from "./settings/profile.ts";
import { profileValue, withValue } from "./settings/profile.ts";
import type { Settings, Sourced } from "./settings/settings.ts";
import { VaultError } from "./errors.ts";
import type { Waiting } from "./exchange/ports.ts";
import { checkOwner } from "./files/owner.ts";
import type { Host } from "./host.ts";
import type { JournalLine } from "./store/journal/items.ts";
import type { KeyAccess, KeySource } from "./secrets/key-source.ts";
import { withLockFile } from "./files/lock-file.ts";
import type { SealedConfiguration, SealedSecret } from "./store/keys/rekey.ts";
import { isSealed } from "./secrets/sealing.ts";
import { realFolder } from "./store/keys/known-states.ts";
import type { LocalStore } from "./store/local-store.ts";
import type { Near, OwnExchange } from "./store/journal/own-exchanges.ts";
import { openStore } from "./store/sqlite/store.ts";
import { stateDirectory } from "./store/paths.ts";
import { ensurePrivateDirectory } from "./files/private-directory.ts";
import type { WholeStateWork } from "./store/whole-state.ts";
import type { Narrator } from "./terminal/narrator.ts";
import type { Redactor } from "./terminal/redactor.ts";

/** What the state, its keys and the configuration of one command are found by. */
export interface StatePlace {
  host: Host;
  settings: Settings;
  mayAsk: boolean;
  /** On `Host.elapsed`. */
  deadline: number;
  narrator: Pick<Narrator, "warn">;
  redactor: Pick<Redactor, "add">;
  configDirectory(): string;
  /** Reads a secret from where a setting has it, and makes it known to the redactor. */
  readSecret(spec: Sourced): Promise<string>;
}

/** The state, and the configuration whose secrets it seals. */
export interface LocalState {
  store: LocalStore;
  /**
   * Opens a secret of a profile. What does not open is read once more: a rekey may have changed it, and its key, since the
   * profile was read. Raises `state`.
   */
  openSecret(at: SealedSecret["place"], sealed: string): Promise<string>;
  /** Backup, restore and facts. */
  whole(): Promise<WholeStateWork>;
  /** What the journal tells, read only; null where there is no state. Makes nothing, needs no key. Raises `state`. */
  history(): Promise<StateHistory | null>;
  /** Changes the configuration as one step; what `change` raises leaves it as it was. */
  configure(change: (current: Configuration) => Promise<Configuration>): Promise<Configuration>;
  /** Changes the key of all sealed values. */
  rekey(plan: Pick<Parameters<LocalStore["rekey"]>[0], "to" | "skipMissing">): ReturnType<LocalStore["rekey"]>;
}

/** What this machine has done, on one snapshot. */
export interface StateHistory {
  /** Oldest first. */
  journal(): Iterable<JournalLine>;
  /** The exchange with this external reference: see `OwnExchanges.find`. */
  own(externalRef: string, near?: Near): OwnExchange | undefined;
  close(): void;
}

/** The state with its keys. With `anySource` the key file alone says where keys come from, whatever is configured. */
export async function openLocalState(place: StatePlace, anySource = false): Promise<LocalState> {
  const { host, settings } = place;
  const directory = directoryOf(place);
  const warn = (message: string): void => place.narrator.warn(message);
  const path = keyFileOf(place, { stateKeyFile: settings.stateKeyFile });
  checkOwner(directory, host.uid, "the state");
  for (const each of [dirname(path), path]) checkOwner(each, host.uid, "the key file");
  const access = keyAccess(place, path);
  const given = settings.stateKeySpec;
  const key = given === undefined ? undefined : await place.readSecret(given);
  const demand = anySource ? undefined : settings.stateKeySource;
  const file: KeySource = { type: "file", path, access, ...(demand === undefined ? {} : { demand }) };
  const keySource: KeySource = key === undefined ? file : { type: "given", key, path, access };
  const options = { directory, keySource, clock: host, platform: host.platform, warn, keys: new Map() };
  const store = openStore(options);
  return {
    store,
    openSecret: async (at, sealed) => await openProfileSecret(place, store, at, sealed),
    whole: async () => (await import("./store/whole-state.ts")).openWholeState(options),
    history: async () => await openHistory(place, directory),
    configure: async (change) => await changeConfiguration(place, change),
    rekey: async (plan) =>
      await store.rekey({ ...plan, keyFile: path, configuration: sealedConfiguration(place, path), waiting: waitingOf(place) }),
  };
}

async function openHistory({ host }: StatePlace, directory: string): Promise<StateHistory | null> {
  const [{ openForReading }, { journalLines }, { OwnExchanges }] = await Promise.all([
    import("./store/sqlite/read-only.ts"),
    import("./store/journal/items.ts"),
    import("./store/journal/own-exchanges.ts"),
  ]);
  const db = await openForReading(directory, host);
  if (db === null) return null;
  const exchanges = new OwnExchanges(db);
  return { journal: () => journalLines(db), own: (externalRef, near) => exchanges.find(externalRef, near), close: () => db.close() };
}

/** The key file of a profile. */
const keyFileOf = ({ host, configDirectory }: Pick<StatePlace, "host" | "configDirectory">, profile: Profile): string => {
  const path = profileValue(profile, "stateKeyFile") ?? `${configDirectory()}/state.key`;
  const absolute = isAbsolute(path) ? path : resolve(host.cwd, path);
  // One file may be reached by several names.
  return join(realFolder(dirname(absolute)), basename(absolute));
};

async function changeConfiguration(place: StatePlace, change: (current: Configuration) => Promise<Configuration>): Promise<Configuration> {
  return await withConfiguration(place, async () => {
    const next = await change((await readConfiguration(place.configDirectory())) ?? { profiles: {} });
    await writeConfiguration(place.configDirectory(), next);
    return next;
  });
}

async function withConfiguration<T>(place: StatePlace, work: () => Promise<T>): Promise<T> {
  const directory = place.configDirectory();
  ensurePrivateDirectory(directory);
  return await withLockFile(`${directory}/config.lock`, "the configuration", place.host, waitingOf(place), work);
}

/** Does the work with a lock file held. Raises `busy` at the deadline, the reason of `interrupted`, `state`. */
export async function withLock<T>(place: StatePlace, lockFile: string, what: string, work: () => Promise<T>): Promise<T> {
  return await withLockFile(lockFile, what, place.host, waitingOf(place), work);
}

/** The deadline begins to be counted where somebody waits. */
function waitingOf(place: StatePlace): Waiting {
  return {
    get deadline() {
      return place.deadline;
    },
    signal: place.host.interrupted,
  };
}

function directoryOf({ settings: { state }, host }: StatePlace): string {
  if (state !== undefined && /^[a-z]+:\/\//i.test(state)) {
    throw new VaultError("usage", "--state: must be a directory: no other kind of state is supported", {
      hint: "--state /var/lib/vaultsvc",
    });
  }
  const path = state ?? stateDirectory(host);
  return isAbsolute(path) ? path : resolve(host.cwd, path);
}

async function openProfileSecret(place: StatePlace, store: LocalStore, at: SealedSecret["place"], sealed: string): Promise<string> {
  if (!isSealed(sealed)) {
    throw new VaultError("state", `the config key ${at.key} of profile ${at.profile} stands there in clear`, {
      hint: `it is only used sealed: vault config set ${at.key} @FILE --profile ${at.profile}`,
    });
  }
  try {
    return await store.openSecret(at, sealed);
  } catch (error) {
    const profiles = (await readConfiguration(place.configDirectory()))?.profiles ?? {};
    const now = profileValue(profiles[at.profile] ?? {}, at.key);
    if (now === undefined || now === sealed || !isSealed(now)) throw error;
    return await store.openSecret(at, now);
  }
}

/** The secrets of the configuration that are sealed by way of this key file. */
function sealedConfiguration(place: StatePlace, path: string): SealedConfiguration {
  const read = async (): Promise<Configuration> => (await readConfiguration(place.configDirectory())) ?? { profiles: {} };
  return {
    exclusively: async (work) => await withConfiguration(place, work),
    secrets: async () => secretsIn(place, path, await read()),
    replace: async (secrets, source) => {
      const before = await read();
      const profiles = { ...before.profiles };
      for (const { place: at, sealed } of secrets) profiles[at.profile] = withValue(profiles[at.profile] ?? {}, at.key, sealed);
      for (const [name, profile] of Object.entries(profiles)) {
        const said = profileValue(profile, "stateKeySource");
        if (keyFileOf(place, profile) !== path || said === undefined || said === source) continue;
        profiles[name] = withValue(profile, "stateKeySource", source === "given" ? undefined : source);
      }
      const after = { ...before, profiles };
      if (JSON.stringify(after) !== JSON.stringify(before)) await writeConfiguration(place.configDirectory(), after);
    },
  };
}

function secretsIn(place: StatePlace, path: string, { profiles }: Configuration): SealedSecret[] {
  return Object.entries(profiles).flatMap(([name, profile]) =>
    secretKeys.flatMap((key) => {
      const sealed = profileValue(profile, key);
      if (sealed === undefined || !isSealed(sealed) || keyFileOf(place, profile) !== path) return [];
      return [{ place: { profile: name, key }, sealed }];
    }),
  );
}

function keyAccess(place: StatePlace, path: string): KeyAccess {
  const answers = new Map<string, string>();
  return {
    passphrase: async (id) => {
      const given = place.settings.statePassphraseSpec;
      if (given !== undefined) return await place.readSecret(given);
      const answered = answers.get(id ?? "");
      if (answered !== undefined) return answered;
      if (!place.mayAsk) throw noPassphrase();
      const { askNewPassphrase, askSecret } = await import("./terminal/prompts.ts");
      const answer =
        id === null
          ? await askNewPassphrase(place.host)
          : await askSecret(place.host, { message: `Passphrase of the state (key ${id})`, rule: notEmpty });
      place.redactor.add(answer);
      answers.set(id ?? "", answer);
      return answer;
    },
    keyring: async () => await (await import("./secrets/os-keyring.ts")).openOsKeyring(),
    sealedInConfiguration: async () => {
      const configuration = await readConfiguration(place.configDirectory());
      const [first] = configuration === null ? [] : secretsIn(place, path, configuration);
      return first?.sealed.split(":")[1] ?? null;
    },
  };
}

const notEmpty = (answer: string): string | null => (answer === "" ? "must not be empty" : null);

const noPassphrase = (): VaultError =>
  new VaultError("usage", "the passphrase of the state is missing", {
    hint: `give it by ${waysToSet("statePassphrase")}, or run it on a terminal, where it is asked for`,
  });
