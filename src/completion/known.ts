import { defined } from "../defined.ts";
import type { Configuration } from "../settings/config-file.ts";
import { readConfiguration } from "../settings/config-file.ts";
import { checkLocation } from "../settings/location.ts";
import { findSetting } from "../settings/settings.ts";

/** A possible word of a command line, and its meaning. */
export interface Candidate {
  value: string;
  description?: string;
}

/** Values of the options of a line, by commander's names. */
export type Given = Readonly<Record<string, unknown>>;

export interface KnownVault {
  uuid: string;
  label: string | null;
  kind: string;
}

/** Sources of candidates on this machine, each asked only when needed. They never throw: an empty list means that nothing is known. */
export interface Known {
  vaults(given: Given): Promise<readonly KnownVault[]>;
  profiles(): Promise<Candidate[]>;
  /** Of what a read prints of the vault, by its kind where that is known. */
  fields(given: Given, vault: string | undefined): Promise<Candidate[]>;
  variables(): string[];
}

/** The user whose settings and state are read. */
interface User {
  env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}

/** Locations of the user's files, and a reader of the state. */
interface Files {
  configDirectory(): string;
  /** The vaults of the state at a location on this machine, by default the user's own; of a shared one none. */
  readVaults(location: string | undefined): Promise<readonly KnownVault[]>;
  /** The paths of what a read of a vault of this kind prints, of any kind without one. */
  fieldPaths(kind: string | undefined): Promise<readonly string[]>;
}

/**
 * Creates the sources of profile names and vaults. They create no file and read no key.
 *
 * Unlike `Known`, the sources reject with the errors of the file system, JSON and SQLite.
 */
export function createKnown(
  user: User,
  files: Files,
): Pick<Known, "fields" | "profiles" | "vaults"> {
  const configuration = (): Configuration =>
    readConfiguration(files.configDirectory()) ?? { profiles: {} };
  const vaultsOf = async (given: Given) => {
    const { currentProfile = "default", profiles } = configuration();
    const name =
      (given["profile"] as string | undefined) ?? (user.env["VAULTSVC_PROFILE"] || currentProfile);
    // No shell has expanded this word: completion sees it as it was typed.
    const flag = (given["state"] as string | undefined)?.replace(/^~(?=\/)/, () => user.home);
    const found = findSetting("state", defined({ state: flag }), user.env, profiles[name] ?? {});
    if (found !== undefined) checkLocation(found.text, found.source);
    return await files.readVaults(found?.text);
  };
  return {
    profiles: async () => Object.keys(configuration().profiles).map((value) => ({ value })),
    vaults: vaultsOf,
    fields: async (given, vault) => {
      const named = ({ uuid, label }: KnownVault): boolean =>
        label === vault || uuid === vault?.toLowerCase();
      const kind =
        (given["kind"] as string | undefined) ?? (await vaultsOf(given)).find(named)?.kind;
      return (await files.fieldPaths(kind)).map((value) => ({ value }));
    },
  };
}
