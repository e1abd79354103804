import { VaultError } from "../errors.ts";
import { withoutPassword } from "../protocol/address.ts";
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
