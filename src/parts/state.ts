import { basename, dirname, join } from "node:path";
import { command } from "../way.ts";
import { once } from "../settings/once.ts";
import type { Sourced } from "../settings/definitions.ts";
import { readGiven } from "../settings/given.ts";
import type { StateHistory } from "../store/journal/history.ts";
import type { State, WholeState } from "../store/state.ts";
import { passphraseOnTerminal } from "../cli/prompts.ts";
import { defined } from "../defined.ts";
import { checkOwner } from "../files/private-directory.ts";
import type { Host } from "../host.ts";
import type { KeyAccess, KeySource } from "../secrets/key-source.ts";
import { keyPlace, openGivenKey } from "../secrets/key-source.ts";
import type { ProfilePlace } from "../secrets/sealing.ts";
import { isShared } from "../settings/location.ts";
import { profileValue, type NamedProfile, type Profile } from "../settings/config-file.ts";
import type { Settings } from "../settings/settings.ts";
import type { RekeyPlan } from "../store/keys/rekey.ts";
import { stateDirectory } from "../store/paths.ts";
import type { LocalState } from "../store/sqlite/store.ts";
import { directoryOf, type Basics } from "./settings.ts";

/** What is kept: vaults, exchanges and counters, with the keys that seal them and the secrets of the configuration. */
export interface StatePart {
  store: () => Promise<State>;
  /** The state with its keys; for another profile, as the settings are with that. `anySource`: whatever `stateKeySource` says. */
  open: (profile?: NamedProfile, anySource?: boolean) => Promise<OpenState>;
  /** See `openHistory`. */
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
    if (setting.fromProfile !== true) return await readGiven(io, setting);
    const at = {
      profile: settings.profileInUse.name,
      key: setting.source.replace("config key ", ""),
    };
    const value = await (await opened()).openSecret(at, setting.text);
    io.redactor.add(value);
    return value;
  };
  const needs = { io, settings, secretSetting };
  const opened = once(async () => await openState(needs, settings));
  return {
    store: async () => (await opened()).state,
    open: async (other, anySource) =>
      other === undefined && anySource !== true
        ? await opened()
        : await openState(needs, other === undefined ? settings : settings.of(other), anySource),
    history: async () => await openHistory(io.host, settings, opened),
    secretSetting,
  };
}

/** What opening a state takes of the program. */
interface Needs extends Basics {
  secretSetting: (setting: Sourced) => Promise<string>;
}

/** The states that the settings name, and the configuration whose secrets the one on this machine seals. */
export type OpenState = Awaited<ReturnType<typeof openState>>;

/** The state with its keys. With `anySource` each value is opened with the key that it names, whatever is configured. */
async function openState(
  { io, settings: { configuration }, secretSetting }: Needs,
  settings: Settings,
  anySource = false,
) {
  const { host, waiting, narrator, redactor, ask } = io;
  const [
    { changeConfiguration, openProfileSecret, sealedConfiguration },
    { realFolder },
    { openStore },
  ] = await Promise.all([
    import("../settings/profile-secrets.ts"),
    import("../store/keys/known-states.ts"),
    import("../store/sqlite/store.ts"),
  ]);
  const directory = checkedDirectory(host, settings);
  // One file may be reached by several names.
  const keyFileOf = (profile: Profile): string => {
    const path = host.resolve(profileValue(profile, "stateKeyFile") ?? configuration.keyFile);
    return join(realFolder(dirname(path)), basename(path));
  };
  const path = keyFileOf({ stateKeyFile: settings.stateKeyFile });
  const used = configuration.profile === undefined ? [] : ["--profile", configuration.profile];
  const another =
    settings.stateKeyFile === undefined
      ? []
      : [command`vault config set stateKeyFile FILE ${used}`];
  for (const each of [dirname(path), path])
    checkOwner(each, host.uid, `the key file ${path}`, another);
  const place = { directory: configuration.directory, clock: host, waiting, keyFileOf };
  const sealed = sealedConfiguration(place, path);
  const { stateKey, statePassphrase } = settings;
  const askPassphrase = passphraseOnTerminal(ask, redactor.add);
  const access: KeyAccess = {
    passphrase: async (id) =>
      statePassphrase === undefined
        ? await askPassphrase(id)
        : await secretSetting(statePassphrase),
    keyring: async () => await (await import("../secrets/os-keyring.ts")).openOsKeyring(),
    sealedInConfiguration: async () => (await sealed.secrets())[0]?.sealed.split(":")[1] ?? null,
  };
  const given = stateKey && (await openGivenKey(await secretSetting(stateKey), access));
  const demand = anySource ? undefined : settings.stateKeySource;
  const file: KeySource = { type: "file", path, access, ...defined({ demand }) };
  const keySource: KeySource =
    given === undefined || anySource ? file : { type: "given", key: given.key, path, access };
  const cached = new Map(given && [[given.key.id, given.key]]);
  // In one place, whatever the state in use.
  const machineDirectory = (): string => stateDirectory(host);
  const options = {
    directory,
    machineDirectory,
    keySource,
    clock: host,
    platform: host.platform,
    by: host.actor,
    warn: narrator.warn,
    keys: cached,
  };
  // Its key also seals the secrets of the configuration.
  const keys = openStore(options);
  const sharing = { ...options, waiting, env: host.env, learnSecret: redactor.add };
  const stateAt = async (location: string): Promise<State> =>
    isShared(location)
      ? (await import("../store/postgres/open.ts")).openShared({
          location,
          ...sharing,
          directory: machineDirectory(),
        })
      : openStore({ ...options, directory: directoryOf(host, location) });
  const state = isShared(settings.state) ? await stateAt(settings.state) : keys;
  const wholeAt = async (location: string): Promise<WholeState> =>
    await (await stateAt(location)).whole();
  return {
    /** The state in use. */
    state,
    /** The keys of this machine, which seal the secrets of the configuration. */
    keys: keys as Pick<LocalState, "keyEntries" | "openSecret">,
    /** Where the key of the state comes from. */
    key: keyPlace(keySource),
    /** The key that --state-key gives. */
    given,
    /** See `openProfileSecret`. */
    openSecret: async (...secret: Parameters<LocalState["openSecret"]>) =>
      await openProfileSecret(place, keys.openSecret.bind(keys), ...secret),
    /** Seals a secret of the configuration, under its lock. Throws `state`. */
    sealSecret: async (at: ProfilePlace, text: string) =>
      await keys.sealSecret(at, text, state.isShared),
    /** Checks the address of a shared state. Throws `usage`. */
    checkAddress: async (location: string) => {
      if (isShared(location))
        (await import("../store/postgres/address.ts")).addressHere(
          location,
          host.env,
          () => undefined,
        );
    },
    /** A move of the state to another place: where to, and what does it. */
    move: async (location: string) => {
      const { moveState } = await import("../store/whole/move.ts");
      const [from, to] = await Promise.all([state.whole(), wholeAt(location)]);
      return { to: to.shown, run: async () => await moveState(from, to, waiting) };
    },
    /** A claim of the state: what does it, where nothing speaks against it. See `checkGone`, and `claim` of the whole state. */
    claim: async () => {
      const { checkGone } = await import("../store/whole/claim.ts");
      const whole = await state.whole();
      const giveUp = await checkGone(whole, wholeAt, narrator.warn);
      return async () => {
        await giveUp(waiting);
        await whole.claim(waiting);
      };
    },
    keyFile: path,
    /** See `changeConfiguration`. */
    configure: async (change: Parameters<typeof changeConfiguration>[1]) =>
      await changeConfiguration(place, change),
    /** Changes the key of all sealed values. */
    rekey: async (plan: Pick<RekeyPlan, "to" | "skipMissing">) =>
      await keys.rekey({
        ...plan,
        keyFile: path,
        configuration: sealed,
        elsewhere: await (await state.whole()).resealing(waiting),
        waiting,
      }),
  };
}

/**
 * What the journal tells, read only; null where there is none. Makes nothing, and needs no key on this machine.
 * @throws `state`
 */
async function openHistory(
  host: Host,
  settings: Settings,
  state: () => Promise<OpenState>,
): Promise<StateHistory | null> {
  if (isShared(settings.state)) return await (await (await state()).state.whole()).history();
  return await (
    await import("../store/journal/history.ts")
  ).openHistory(checkedDirectory(host, settings), host);
}

/** The directory of the state, if it is not another user's. Throws `state`. */
function checkedDirectory(host: Host, { state }: Settings): string {
  const directory = directoryOf(host, state);
  checkOwner(directory, host.uid, "the state");
  return directory;
}
