import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Address } from "./address.ts";
import { addressHere } from "./address.ts";
import type { SharedOptions } from "./store.ts";
import { PostgresStore } from "./store.ts";

interface Opening extends Omit<SharedOptions, "address"> {
  /** `postgres://…` */
  location: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Receives the password. */
  learnSecret: (secret: string) => void;
}

/**
 * The state of several machines at an address. Nothing is read before the first call.
 * @throws `usage` for an address that cannot be used
 */
export function openShared({ location, env, learnSecret, ...options }: Opening): PostgresStore {
  const address = addressHere(location, env);
  if (address.password !== undefined) learnSecret(address.password);
  const findPassword: Address["findPassword"] = (at) => {
    const password = passwordFromFile(env["HOME"], { ...address, ...at }, options.warn);
    if (password !== undefined) learnSecret(password);
    return password;
  };
  const by = { ...options.by, role: address.user };
  return new PostgresStore({ ...options, by, address: { ...address, findPassword } });
}

/** Whose password is looked up. */
interface Login {
  host: string;
  port: number;
  database: string;
  user: string;
}

/**
 * The password that `~/.pgpass` has for a login, as PostgreSQL's own programs find it: not in a file that others can read, which draws
 * a warning.
 */
function passwordFromFile(
  home: string | undefined,
  login: Login,
  warn: (message: string) => void,
): string | undefined {
  if (home === undefined) return undefined;
  const path = join(home, ".pgpass");
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() !== true) return undefined;
  if ((found.mode & 0o077) !== 0) {
    warn(`${path} is not used: other users can read it (chmod 600 ${path})`);
    return undefined;
  }
  return passwordIn(readFileSync(path, "utf8"), login);
}

/** The password of the first line `host:port:database:user:password` that fits; `*` fits everything, and a backslash escapes. */
export function passwordIn(
  text: string,
  { host, port, database, user }: Login,
): string | undefined {
  // A folder of sockets is this machine.
  const wanted = [host.startsWith("/") ? "localhost" : host, String(port), database, user];
  for (const line of text.split(/\r?\n/)) {
    const fields = [...line.matchAll(/((?:\\.|[^\\:])*)(?::|$)/g)].map(([, field = ""]) => field);
    const fits = wanted.every(
      (value, index) => fields[index] === "*" || unescaped(fields[index]) === value,
    );
    if (fits && !line.startsWith("#")) return unescaped(fields[wanted.length]);
  }
  return undefined;
}

const unescaped = (field: string | undefined): string | undefined =>
  field?.replaceAll(/\\(.)/g, "$1");
