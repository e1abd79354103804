import { join } from "node:path";
import { once } from "../at-a-time.ts";
import { readSecret, type Sourced } from "../settings/given.ts";
import type { StateHistory } from "../store/sqlite/history.ts";
import type { State, StoredWhole } from "../store/whole/stored-whole.ts";
import type { Waiting } from "../exchange/ports.ts";
import type { ProfileSecrets } from "../settings/profile-secrets.ts";
import { checkOwner } from "../files/private-directory.ts";
import { givenKey, parseGivenKey, type GivenKey, type KeySource } from "../secrets/keys.ts";
import { isShared, stateDirectory } from "../settings/location.ts";
import { profileValue, type NamedProfile } from "../settings/config-file.ts";
import { resolveSettings, type Settings } from "../settings/settings.ts";
import { directoryOf, type Basics } from "./basics.ts";

export type { DirectoryFacts, ServerFacts, StateFacts } from "../store/whole/stored-whole.ts";

/** What is kept: vaults, exchanges and counters, with the key that seals them and the secrets of the configuration. */
export interface StatePart {
  store: () => Promise<State>;
  /** The state with its key; for another profile, as the settings are with that. */
  open: (profile?: NamedProfile) => Promise<OpenState>;
  /** The state of a profile, whatever else is given; with a directory, keys and configuration are there. */
  openAlone: (profile: NamedProfile, directory?: string) => Promise<OpenState>;
  /** What the journal tells, read only; null if there is none. Makes nothing, and needs no key on this machine. Throws `state`. */
  history: () => Promise<StateHistory | null>;
  /** A secret from where its setting has it, which the redactor knows from then on. */
  secretSetting: (setting: Sourced) => Promise<string>;
}

/** The parts of whatever does not touch the service. */
export interface Local extends Basics {
  state: StatePart;
}

export function createState({ io, settings }: Basics): StatePart {
  const secretSetting = async (setting: Sourced): Promise<string> => {
    if (setting.from !== "profile") return await readSecret(io, setting);
    const key = setting.source.replace("config key ", "");
    const at = { profile: settings.profileInUse.name, key };
    const value = await (await opened()).configuration.open(at, setting.text);
    io.redactor.add(value);
    return value;
  };
  const { directory } = settings.configuration;
  const open = async (wanted: Settings, profile: NamedProfile, place = directory) =>
    await openState({ io, secretSetting }, wanted, profile, place);
  const opened = once(async () => await open(settings, settings.profileInUse));
  return {
    store: async () => (await opened()).state,
    open: async (other) =>
      other === undefined
        ? await opened()
        : await open(resolveSettings(settings.flags, io.host.env, other.settings), other),
    openAlone: async (other, place) =>
      await open(resolveSettings({}, {}, other.settings), other, place),
    history: async () => {
      if (isShared(settings.state)) return await (await (await opened()).state.whole()).history();
      const { openHistory } = await import("../store/sqlite/history.ts");
      const place = directoryOf(io.host, settings.state);
      checkOwner(place, io.host.uid, "the state");
      return openHistory(place, io.host);
    },
    secretSetting,
  };
}

type Needs = Pick<Basics & StatePart, "io" | "secretSetting">;

/** The state that the settings name, and the configuration. */
export interface OpenState {
  state: State;
  configuration: ProfileSecrets;
  /** The state at another location. Throws `usage` for an address that is wrong. */
  at: (location: string) => Promise<State>;
  /** A move of the state to another place: where to, and what does it. See `moveState`. */
  move: (
    location: string,
  ) => Promise<{ to: string; run: (waiting: Waiting) => Promise<{ vaults: number | null }> }>;
  /** See `prepareClaim`. */
  claim: () => Promise<(waiting: Waiting) => Promise<void>>;
}

async function openState(
  { io, secretSetting }: Needs,
  settings: Settings,
  profile: NamedProfile,
  configDirectory: string,
): Promise<OpenState> {
  const { host, waiting, narrator } = io;
  const { uid } = host;
  const { ProfileSecrets } = await import("../settings/profile-secrets.ts");
  const { SqliteState } = await import("../store/sqlite/store.ts");
  checkOwner(directoryOf(host, settings.state), uid, "the state");
  const folder = join(configDirectory, "keys");
  for (const each of [configDirectory, folder]) checkOwner(each, uid, "the key files");
  const keySource: KeySource = {
    folder,
    uid,
    given: await givenKeyOf({ io, secretSetting }, settings),
    cached: new Map(),
    // A profile may name another one.
    formerFile: () =>
      host.resolve(
        profileValue(profile.settings, "stateKeyFile") ?? join(configDirectory, "state.key"),
      ),
  };
  const shared = { clock: host, waiting, warn: narrator.warn };
  const at = async (location?: string): Promise<State> => {
    const options = {
      ...shared,
      directory: directoryOf(host, location),
      // In one place, whatever the state in use.
      machineDirectory: () => stateDirectory(host),
      keySource,
      by: host.actor,
    };
    if (!isShared(location)) return new SqliteState(options);
    const { openShared } = await import("../store/postgres/store.ts");
    return openShared(location, host.env, io.redactor.add, options);
  };
  const state = await at(settings.state);
  const wholeAt = async (location: string): Promise<StoredWhole> =>
    await (await at(location)).whole();
  return {
    state,
    at,
    configuration: new ProfileSecrets({
      ...shared,
      directory: configDirectory,
      keys: folder,
      uid,
      former: async (id) => await state.parts.keyring.find(id),
    }),
    async move(location) {
      const { moveState } = await import("../store/whole/move.ts");
      const [from, to] = [await state.whole(), await wholeAt(location)];
      return { to: to.shown, run: async (wait) => await moveState(from, to, wait) };
    },
    async claim() {
      const { prepareClaim } = await import("../store/whole/move.ts");
      return await prepareClaim(await state.whole(), wholeAt, narrator.warn);
    },
  };
}

/** What gives the key of the state, if that is no file: a flag, a variable or a command, which runs when the key is needed. */
async function givenKeyOf(
  { io, secretSetting }: Needs,
  { stateKey, stateKeyCommand, timeout }: Settings,
): Promise<GivenKey | undefined> {
  if (stateKey !== undefined) return givenKey(await secretSetting(stateKey), stateKey.source);
  if (stateKeyCommand === undefined) return undefined;
  const by = `the ${stateKeyCommand.source}`;
  const prints = "the key, 32 bytes as base64, on standard output";
  const read = once(async () => {
    const { runPrintingCommand } = await import("../settings/child-command.ts");
    const { signal } = io.waiting;
    return parseGivenKey(
      await runPrintingCommand(stateKeyCommand, prints, timeout, io, signal),
      by,
    );
  });
  return { by, read };
}
