import { isAbsolute, join } from "node:path";
import { VaultError } from "../errors.ts";
import { withoutPassword } from "../protocol/address.ts";
import { command, noted } from "../way.ts";
import { secretSeen } from "./given.ts";

/** Whether the location of a state is the address of one that several machines share, and no directory. */
export const isShared = (state: string | undefined): state is string =>
  state !== undefined && /^postgres(?:ql)?:\/\//.test(state);

/**
 * What is no path on purpose: a space, an invisible character or a quote around it, a ~ or a variable that was not expanded, and what
 * looks like another address; a path with one of = @ : or // may start with / or ./.
 */
const accident =
  /^\s|[\s\p{Cc}]$|^["'`\u2018-\u201F\u00AB\u00BB~$]|\$\{|:\/\/|postgres:|^(?!\.{0,2}\/).*(?:[=@:]|\/\/)/isu;

/**
 * Checks that the location of a state is the address of a shared one or a path, and nothing that would become a path by accident, such
 * as an address in quotes. The rest of an address is checked where it is parsed.
 * @throws `usage`, without any part of the location
 */
export function checkLocation(location: string, source: string): void {
  if (isShared(location) || !accident.test(location)) return;
  throw new VaultError(
    "usage",
    `${source}: must be a directory or postgres://user@host/database, without quotes, spaces around it, ~ and variables (a path with one of = @ : or // starts with / or ./); nothing was made or sent`,
  );
}

/** The warning about a password that was left out. */
export const passwordDropped =
  "the password of the state's address is not stored: set PGPASSWORD, or put it into ~/.pgpass";

/** The warning about a location on the command line that has a password; undefined for one without. */
export const passwordSeen = (location: string, source: string): string | undefined =>
  withoutPassword(location) === location
    ? undefined
    : secretSeen(source, "PGPASSWORD or ~/.pgpass");

interface UserPlace {
  platform: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Absolute path of the home directory. */
  readonly home: string;
}

/** The per-user state directory; `--state` and VAULTSVC_STATE take precedence. */
export const stateDirectory = (place: UserPlace): string =>
  directoryOf(place, "Application Support", "XDG_STATE_HOME", ".local/state");

/**
 * The per-user configuration directory; VAULTSVC_CONFIG_DIR takes precedence. Always absolute: a
 * configuration can name commands to run, and a relative path would change with every `cd`.
 * @throws `usage` for a relative path
 */
export function configDirectory(place: UserPlace): string {
  const given = place.env["VAULTSVC_CONFIG_DIR"] ?? "";
  if (isAbsolute(given)) return given;
  if (given !== "")
    throw new VaultError(
      "usage",
      `VAULTSVC_CONFIG_DIR: must be an absolute path, not ${given}; nothing was read`,
      { next: [noted(command`export VAULTSVC_CONFIG_DIR=/path/to/directory`, "or unset it")] },
    );
  return directoryOf(place, "Preferences", "XDG_CONFIG_HOME", ".config");
}

/** Where Apple or XDG has it. Ignores a relative path, as the XDG specification requires. */
function directoryOf(place: UserPlace, apple: string, variable: string, otherwise: string): string {
  const name = "vaultsvc";
  if (place.platform === "darwin") return join(place.home, "Library", apple, name);
  const given = place.env[variable] ?? "";
  return join(isAbsolute(given) ? given : join(place.home, otherwise), name);
}
