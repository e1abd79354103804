import { VaultError } from "../errors.ts";
import { withoutPassword } from "../protocol/address.ts";
import { secretSeen } from "./given.ts";

/** Whether the location of a state is the address of one that several machines share, and no directory. */
export const isShared = (state: string | undefined): state is string =>
  state !== undefined && /^postgres(?:ql)?:\/\//.test(state);

/** Signs of a path that was not intended, and how it may have come about. */
const accidents: readonly (readonly [RegExp, string])[] = [
  [/^\s|[\s\p{Cc}]$/u, "it begins or ends with a space or an invisible character"],
  [/^["'`\u2018-\u201F\u00AB\u00BB]/, "it begins with a quote"],
  [/^[~$]|\$\{/, "it has a ~ or a variable that was not expanded"],
  [
    /:\/\/|postgres:|^(?!\.{0,2}\/).*(?:[=@:]|\/\/)/is,
    "it looks like another address; start a path that has one of = @ : or // with / or ./",
  ],
];

/**
 * Checks that the location of a state is the address of a shared one or a path, and nothing that would become a path by accident, such
 * as an address in quotes. The rest of an address is checked where it is parsed.
 * @throws `usage`, without any part of the location
 */
export function checkLocation(location: string, source: string): void {
  const [, why] = (isShared(location) ? [] : accidents).find(([form]) => form.test(location)) ?? [];
  if (why === undefined) return;
  throw new VaultError(
    "usage",
    `${source}: must be a directory or postgres://user@host/database: ${why}; nothing was made or sent`,
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
