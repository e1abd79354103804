import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { userName } from "../../actor.ts";
import { VaultError } from "../../errors.ts";
import { isLoopback } from "../../protocol/address.ts";
import { command } from "../../way.ts";

/** Where a shared state lives, and how to reach it. */
export interface Address {
  /** Tried in this order for one that is not in recovery. A host that begins with a slash is a folder of sockets. */
  hosts: readonly { host: string; port: number }[];
  user: string;
  password: string | undefined;
  /** Finds the one for a host where none is given. */
  findPassword?: (at: { host: string; port: number }) => string | undefined;
  database: string;
  schema: string;
  /** Undefined for a connection without TLS; `rootCertificate` is the path of the certificates to trust in place of the system's. */
  tls: { rootCertificate: string | undefined } | undefined;
  /** Whether the person vouches for a server whose settings say that it loses what it has committed. */
  isDurableAssumed: boolean;
  /** How long a connection may take to be made, and a round trip to be answered. */
  patienceMs: number;
  /** The address for messages and marks: without password and settings, and of the same place when it is parsed. */
  shown: string;
  /** The same with its settings, for a command that is to reach it. */
  reached: string;
}

const form =
  /^postgres(?:ql)?:\/\/(?:(?<login>[^@/?]*)@)?(?<hosts>[\w.:,%[\]-]*)(?:\/(?<database>[^?@]*))?(?:\?(?<settings>[^@]*))?$/;

/**
 * Parses `postgres://[user@]host[:port][,host2…]/database[?schema=…&sslmode=…]`; what it lacks comes from the environment as for the
 * programs of PostgreSQL.
 * @throws `usage` for an address that cannot be used; the message never holds a password
 */
export function parseAddress(
  location: string,
  env: Readonly<Record<string, string | undefined>>,
  user = userName(),
): Address {
  // Left by something that did not replace them: no part of them is shown.
  if (/[\s"'`]|\$\{/.test(location))
    throw refused(
      "it has a space, a quote or ${ in it, which would have to be written as %20, %22, %27, %24",
    );
  const {
    login = "",
    hosts = "",
    database = "",
    settings = "",
  } = form.exec(location)?.groups ?? {};
  if (!form.test(location))
    throw refused(
      "it does not have the form postgres://[user@]host[:port]/database (in a password / ? # @ are %2F %3F %23 %40)",
    );
  const [name, password] = login === "" ? [] : login.split(/:(.*)/s).map(decoded);
  const query = settingsIn(settings);
  const list = (hosts === "" ? (env["PGHOST"] ?? "localhost") : hosts)
    .split(",")
    .map((host) => hostIn(decoded(host), env["PGPORT"]));
  const found = {
    hosts: list,
    user: name ?? env["PGUSER"] ?? user,
    password: password ?? env["PGPASSWORD"],
    database: decoded(database) || (env["PGDATABASE"] ?? name ?? user),
    schema: query.get("schema") ?? "vaultsvc",
  };
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(found.schema))
    throw refused("schema is not a plain name: a-z, 0-9 and _, at most 63");
  const where = list
    .map(
      ({ host, port }) => `${host.includes(":") ? `[${host}]` : encodeURIComponent(host)}:${port}`,
    )
    .join(",");
  const [as, of] = [found.user, found.database].map(encodeURIComponent);
  const place = `postgres://${as}@${where}/${of}`;
  return {
    ...found,
    tls: tlsFor(query, env, list),
    patienceMs: 10_000,
    isDurableAssumed: query.get("durable") === "assumed",
    shown: found.schema === "vaultsvc" ? place : `${place}?schema=${found.schema}`,
    reached: query.size === 0 ? place : `${place}?${new URLSearchParams([...query]).toString()}`,
  };
}

/** Whether two addresses, as in messages, are of one place, whatever their roles. */
export const isSamePlace = (one: string, other: string): boolean =>
  withoutRole(one) === withoutRole(other);

export const withoutRole = (shown: string): string => shown.replace(/\/\/[^@/]*@/, "//");

function hostIn(text: string, port = "5432"): { host: string; port: number } {
  const [, bracketed, host = bracketed ?? "", given] =
    /^(?:\[([^\]]*)\]|([^:]*))(?::(.*))?$/.exec(text) ?? [];
  const number = Number(given ?? port);
  if (!Number.isInteger(number) || number < 1 || number > 65_535)
    throw refused("a port is not a number from 1 to 65535");
  return { host: host === "" ? "localhost" : host, port: number };
}

const known = ["schema", "sslmode", "sslrootcert", "durable"];

function settingsIn(text: string): Map<string, string> {
  const query = new Map(new URLSearchParams(text));
  // What they are named is not repeated: it may be the rest of a password.
  if (![...query.keys()].every((name) => known.includes(name)))
    throw refused(`behind its ? only ${known.join(", ")} are known`);
  const durable = query.get("durable");
  if (durable !== undefined && durable !== "assumed")
    throw refused("durable must be assumed, if it is given");
  return query;
}

/** Verified in full, unless the server is this machine or `sslmode=disable` is written out. */
function tlsFor(
  query: ReadonlyMap<string, string>,
  env: Readonly<Record<string, string | undefined>>,
  hosts: Address["hosts"],
): Address["tls"] {
  const mode = query.get("sslmode") ?? env["PGSSLMODE"];
  const rootCertificate = query.get("sslrootcert") ?? env["PGSSLROOTCERT"];
  if (mode === "disable") return undefined;
  if (mode === undefined && hosts.every(({ host }) => host.startsWith("/") || isLoopback(host)))
    return undefined;
  if (mode === undefined || ["require", "verify-ca", "verify-full"].includes(mode))
    return { rootCertificate };
  throw refused(
    `sslmode ${mode} would not check who the server is; use verify-full, or disable on a network of your own`,
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused("a % in it is not followed by two digits");
  }
}

const refused = (why: string): VaultError =>
  new VaultError("usage", `the address of the state (--state) cannot be used: ${why}`, {
    hint: "--state 'postgres://user@host/database'",
    next: [command`vault help settings`],
  });

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
export function passwordFromFile(
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
