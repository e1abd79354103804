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

/** The user whose settings and state are read. */
interface User {
  env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}

/**
 * What is known on this machine, read only when it is asked for. No file is created and no key read. Each rejects with the errors of the
 * file system, JSON and SQLite.
 */
export class Known {
  private readonly user: User;
  private readonly files: Files;

  constructor(user: User, files: Files) {
    this.user = user;
    this.files = files;
  }

  variables(): string[] {
    return Object.keys(this.user.env);
  }

  profiles(): Candidate[] {
    return Object.keys(this.configuration().profiles).map((value) => ({ value }));
  }

  async vaults(given: Given): Promise<readonly KnownVault[]> {
    const { env } = this.user;
    const { currentProfile = "default", profiles } = this.configuration();
    const name =
      (given["profile"] as string | undefined) ?? (env["VAULTSVC_PROFILE"] || currentProfile);
    // No shell has expanded this word: completion sees it as it was typed.
    const flag = (given["state"] as string | undefined)?.replace(/^~(?=\/)/, () => this.user.home);
    const found = findSetting("state", defined({ state: flag }), env, profiles[name] ?? {});
    if (found !== undefined) checkLocation(found.text, found.source);
    return await this.files.readVaults(found?.text);
  }

  /** Of what a read prints of the vault, by its kind where that is known. */
  async fields(given: Given, vault: string | undefined): Promise<Candidate[]> {
    const named = ({ uuid, label }: KnownVault): boolean =>
      label === vault || uuid === vault?.toLowerCase();
    const kind =
      (given["kind"] as string | undefined) ?? (await this.vaults(given)).find(named)?.kind;
    return (await this.files.fieldPaths(kind)).map((value) => ({ value }));
  }

  private configuration(): Configuration {
    return readConfiguration(this.files.configDirectory()) ?? { profiles: {} };
  }
}

/** Locations of the user's files, and a reader of the state. */
interface Files {
  configDirectory(): string;
  /** The vaults of the state at a location on this machine, by default the user's own; of a shared one none. */
  readVaults(location: string | undefined): Promise<readonly KnownVault[]>;
  /** The paths of what a read of a vault of this kind prints, of any kind without one. */
  fieldPaths(kind: string | undefined): Promise<readonly string[]>;
}
