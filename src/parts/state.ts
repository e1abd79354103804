import { once } from "../settings/once.ts";
import type { Sourced } from "../settings/definitions.ts";
import type { NamedProfile } from "../settings/profile.ts";
import { readGiven } from "../settings/sources.ts";
import type { StateHistory } from "../store/journal/history.ts";
import type { State } from "../store/state.ts";
import { openHistory, openState, type OpenState } from "./open-state.ts";
import type { Basics } from "./settings.ts";

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
