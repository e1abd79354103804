import { basename, dirname, join } from "node:path";
import { passphraseOnTerminal, type Prompts } from "./cli/prompts.ts";
import { defined } from "./defined.ts";
import { VaultError } from "./errors.ts";
import type { Waiting } from "./exchange/ports.ts";
import type { Host } from "./host.ts";
import type { KeyAccess, KeySource } from "./secrets/key-source.ts";
import { profileValue, type Profile } from "./settings/profile.ts";
import type { Settings, Sourced } from "./settings/settings.ts";
import { checkState, isShared } from "./settings/settings.ts";
import type { RekeyPlan } from "./store/keys/rekey.ts";
import type { LocalStore } from "./store/local-store.ts";
import { absolute, stateDirectory } from "./store/paths.ts";
import type { Narrator } from "./terminal/narrator.ts";
import type { Redactor } from "./terminal/redactor.ts";

/** What opening a state takes of the program. */
interface Needs {
  host: Host;
  configuration: { directory: string; keyFile: string };
  waiting: Waiting;
  narrator: Pick<Narrator, "warn">;
  redactor: Pick<Redactor, "add">;
  ask: Prompts;
  secretSetting: (setting: Sourced) => Promise<string>;
}

/** The states that the settings name, and the configuration whose secrets the one on this machine seals. */
export type OpenState = Awaited<ReturnType<typeof openState>>;

/** The state with its keys. With `anySource` the key file alone says where keys come from, whatever is configured. */
export async function openState(app: Needs, settings: Settings, anySource = false) {
  const { host, configuration, waiting, narrator, redactor, secretSetting } = app;
  const [{ changeConfiguration, openProfileSecret, sealedConfiguration }, { realFolder }, { openStore }, { checkOwner }] =
    await Promise.all([
      import("./settings/profile-secrets.ts"),
      import("./store/keys/known-states.ts"),
      import("./store/sqlite/store.ts"),
      import("./files/owner.ts"),
    ]);
  checkState(settings.state);
  const directory = directoryOf(host, settings.state);
  // One file may be reached by several names.
  const keyFileOf = (profile: Profile): string => {
    const path = absolute(host, profileValue(profile, "stateKeyFile") ?? configuration.keyFile);
    return join(realFolder(dirname(path)), basename(path));
  };
  const path = keyFileOf({ stateKeyFile: settings.stateKeyFile });
  checkOwner(directory, host.uid, "the state");
  for (const each of [dirname(path), path]) checkOwner(each, host.uid, "the key file");
  const place = { directory: configuration.directory, clock: host, waiting, keyFileOf };
  const sealed = sealedConfiguration(place, path);
  const { stateKeySpec, statePassphraseSpec } = settings;
  const askPassphrase = passphraseOnTerminal(app.ask, redactor.add);
  const access: KeyAccess = {
    passphrase: async (id) => (statePassphraseSpec === undefined ? await askPassphrase(id) : await secretSetting(statePassphraseSpec)),
    keyring: async () => await (await import("./secrets/os-keyring.ts")).openOsKeyring(),
    sealedInConfiguration: async () => (await sealed.secrets())[0]?.sealed.split(":")[1] ?? null,
  };
  const key = stateKeySpec && (await secretSetting(stateKeySpec));
  const demand = anySource ? undefined : settings.stateKeySource;
  const file: KeySource = { type: "file", path, access, ...defined({ demand }) };
  const keySource: KeySource = key === undefined ? file : { type: "given", key, path, access };
  const options = { directory, keySource, clock: host, platform: host.platform, warn: narrator.warn, keys: new Map() };
  const store = openStore(options);
  const at = isShared(settings.state) ? settings.state : undefined;
  const sharing = { ...options, env: host.env, pid: host.pid, learnSecret: redactor.add };
  const shared = at === undefined ? undefined : (await import("./store/postgres/open.ts")).openShared({ location: at, ...sharing });
  return {
    /** The state on this machine, whose key also seals the secrets of the configuration. */
    store,
    /** The state of several machines, if the settings name one, and operations on the whole of it. */
    shared,
    /** See `openProfileSecret`. */
    openSecret: async (...secret: Parameters<LocalStore["openSecret"]>) =>
      await openProfileSecret(place, store.openSecret.bind(store), ...secret),
    /** Backup, restore and facts. Throws `usage` for a shared state. */
    whole: async () => (await import("./store/whole-state.ts")).openWholeState(onlyLocal(options, shared)),
    /** What the journal on this machine tells, read only; null where there is none. Makes nothing, needs no key. Throws `state`. */
    history: async () => (shared === undefined ? await (await import("./store/journal/history.ts")).openHistory(directory, host) : null),
    /** See `changeConfiguration`. */
    configure: async (change: Parameters<typeof changeConfiguration>[1]) => await changeConfiguration(place, change),
    /** Changes the key of all sealed values. */
    rekey: async (plan: Pick<RekeyPlan, "to" | "skipMissing">) =>
      await onlyLocal(store, shared).rekey({ ...plan, keyFile: path, configuration: sealed, waiting }),
  };
}

/** @throws `usage` beside a shared state */
function onlyLocal<T>(given: T, shared: object | undefined): T {
  if (shared === undefined) return given;
  throw new VaultError("usage", "this works on a state on this machine only, and --state names a shared one", {
    hint: "--state DIRECTORY (for a state on this machine); the backup of a shared state is that of its database",
  });
}

/** The directory of a state on this machine; the default one beside a shared state. */
export const directoryOf = (host: Host, location: string | undefined): string =>
  location === undefined || isShared(location) ? stateDirectory(host) : absolute(host, location);
