import { VaultError } from "../errors.ts";

/** Whether the location of a state is the address of one that several machines share, and no directory. */
export const isShared = (state: string | undefined): state is string =>
  state !== undefined && /^postgres(?:ql)?:\/\//.test(state);

/** What no path has by intention, and how it may have come there. */
const accidents: readonly (readonly [RegExp, string])[] = [
  [/^\s/, "it begins with a space"],
  [/^["'`\u2018-\u201F\u00AB\u00BB]/, "it begins with a quote"],
  [/\$\{/, "it has a variable that nobody has replaced"],
  [/^[a-z][a-z0-9+.-]*:|:\/\/|postgres:/i, "it has the form of another address"],
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
    {
      hint: "--state 'postgres://user@host/database'; --state /var/lib/vaultsvc",
    },
  );
}

/** The location of a state without the password that the address of a shared one may have: it is never stored. */
export const withoutPassword = (location: string): string =>
  location.replace(/^(postgres(?:ql)?:\/\/[^:@/?]*):[^@/?]*@/i, "$1@");

/** What is said where a password was left out. */
export const passwordDropped =
  "the password of the state's address is not stored: set PGPASSWORD, or put it into ~/.pgpass";

/** What is said of a location on the command line that has a password; undefined for one without. */
export const passwordSeen = (location: string, source: string): string | undefined =>
  withoutPassword(location) === location
    ? undefined
    : `${source} has a secret on the command line, where other users of this machine can see it; use PGPASSWORD or ~/.pgpass`;
