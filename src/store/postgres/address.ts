import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { userName } from "../../actor.ts";
import { VaultError } from "../../errors.ts";
import { isLoopback } from "../../protocol/address.ts";
import { command } from "../../way.ts";

type Environment = Readonly<Record<string, string | undefined>>;

interface HostPort {
  /** One that begins with a slash is a folder of sockets. */
  host: string;
  port: number;
}

/** Where a shared state lives, and how to reach it. */
export interface Address {
  /** Tried in this order for one that is not in recovery. */
  hosts: readonly HostPort[];
  user: string;
  password: string | undefined;
  /** Finds the one for a host if none is given, at each login: a file may be renewed. */
  findPassword?: (at: HostPort) => string | undefined;
  database: string;
  schema: string;
  /** Undefined without TLS; `rootCertificate` is the path of certificates to trust instead. */
  tls: { rootCertificate: string | undefined } | undefined;
  /** Whether the person vouches for a server whose settings say that it can lose commits. */
  isDurableAssumed: boolean;
  /** How long a connection may take to be made, and a round trip to be answered. */
  patienceMs: number;
  /** The address for messages, marks and commands: no password; parses to the same place. */
  shown: string;
}

const form =
  /^postgres(?:ql)?:\/\/(?:(?<login>[^@/?\s"'`]*)@)?(?<hosts>[\w.:,%[\]-]*)(?:\/(?<database>[^?@\s"'`]*))?(?:\?(?<settings>[^@\s"'`]*))?$/;

/**
 * Parses `postgres://[user@]host[:port][,host2…]/database[?schema=…&sslmode=…]`; what is missing
 * comes from the environment, as for PostgreSQL's own programs.
 * @throws `usage` for an address that cannot be used; the message never holds a password
 */
export function parseAddress(location: string, env: Environment, user = userName()): Address {
  const parts = form.exec(location)?.groups;
  if (parts === undefined || location.includes("${")) throw malformed();
  const { login, hosts: given, database = "", settings = "" } = parts;
  const [name, password] = login ? login.split(/:(.*)/s).map(decoded) : [];
  const hosts = (given || (env["PGHOST"] ?? "localhost"))
    .split(",")
    .map((host) => hostIn(decoded(host), env["PGPORT"]));
  const query = settingsIn(settings);
  const as = name ?? env["PGUSER"] ?? user;
  const of = decoded(database) || (env["PGDATABASE"] ?? name ?? user);
  const where = hosts.map(
    ({ host, port }) => `${host.includes(":") ? `[${host}]` : encodeURIComponent(host)}:${port}`,
  );
  const more = query.size === 0 ? "" : `?${query.toString()}`;
  return {
    hosts,
    user: as,
    password: password ?? env["PGPASSWORD"],
    database: of,
    schema: query.get("schema") ?? "vaultsvc",
    tls: tlsFor(query, env, hosts),
    patienceMs: 10_000,
    isDurableAssumed: query.has("durable"),
    shown: `postgres://${encodeURIComponent(as)}@${where.join(",")}/${encodeURIComponent(of)}${more}`,
  };
}

/** Whether two addresses, as in messages, are of one place, whatever their roles and settings. */
export function isSamePlace(...shown: [string, string]): boolean {
  const [one, other] = shown.map((address) => {
    const [of = "", settings] = address.split("?");
    const schema = new URLSearchParams(settings).get("schema") ?? "vaultsvc";
    return `${of.replace(/\/\/[^@/]*@/, "//")}?${schema}`;
  });
  return one === other;
}

function hostIn(text: string, defaultPort = "5432"): HostPort {
  const { bracketed, plain, given } =
    /^(?:\[(?<bracketed>[^\]]*)\]|(?<plain>[^:]*))(?::(?<given>.*))?$/.exec(text)?.groups ?? {};
  const port = Number(given ?? defaultPort);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw refused("a port is not a number from 1 to 65535");
  return { host: bracketed || plain || "localhost", port };
}

function settingsIn(text: string): URLSearchParams {
  const query = new URLSearchParams(text);
  const known: Record<string, RegExp> = {
    schema: /^[a-z_][a-z0-9_]{0,62}$/,
    sslmode: /./,
    sslrootcert: /./,
    durable: /^assumed$/,
  };
  // What they are named is not repeated: it may be the rest of a password.
  if (![...query].every(([name, value]) => known[name]?.test(value) === true))
    throw refused(
      "behind its ? only schema (a-z, 0-9 and _, at most 63), sslmode, sslrootcert and durable=assumed are known",
    );
  return query;
}

/** Verified in full, unless the server is this machine or `sslmode=disable` is written out. */
function tlsFor(query: URLSearchParams, env: Environment, hosts: Address["hosts"]): Address["tls"] {
  const mode = query.get("sslmode") ?? env["PGSSLMODE"];
  if (mode === "disable") return undefined;
  if (mode === undefined && hosts.every(({ host }) => host.startsWith("/") || isLoopback(host)))
    return undefined;
  if (mode !== undefined && !["require", "verify-ca", "verify-full"].includes(mode))
    throw refused(
      `sslmode ${mode} would not check who the server is; use verify-full, or disable on a network of your own`,
    );
  return { rootCertificate: query.get("sslrootcert") ?? env["PGSSLROOTCERT"] };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw malformed();
  }
}

const malformed = (): VaultError =>
  refused(
    "it does not have the form postgres://[user@]host[:port]/database (in a password / ? # @ % and a space are %2F %3F %23 %40 %25 %20)",
  );

const refused = (why: string): VaultError =>
  new VaultError("usage", `the address of the state (--state) cannot be used: ${why}`, {
    hint: "--state 'postgres://user@host/database'",
    next: [command`vault help settings`],
  });

/**
 * The password in `~/.pgpass` for a login, found as by PostgreSQL's own programs: that of the first
 * line `host:port:database:user:password` that fits; `*` fits all, a backslash escapes. A file that
 * others can read is not used, with a warning.
 */
export function passwordFromFile(
  home: string | undefined,
  { host, port, database, user }: HostPort & Pick<Address, "database" | "user">,
  warn: (message: string) => void,
): string | undefined {
  const path = join(home ?? "", ".pgpass");
  const found = statSync(path, { throwIfNoEntry: false });
  if (home === undefined || found?.isFile() !== true) return undefined;
  if ((found.mode & 0o077) !== 0) {
    warn(`${path} is not used: other users can read it (chmod 600 ${path})`);
    return undefined;
  }
  // A folder of sockets is this machine.
  const wanted = [host.startsWith("/") ? "localhost" : host, String(port), database, user];
  const lines = readFileSync(path, "utf8").split(/\r?\n/);
  const logins = lines
    .filter((line) => !line.startsWith("#"))
    .map((line) => [...line.matchAll(/((?:\\.|[^\\:])*)(?::|$)/g)].map(([, field = ""]) => field));
  const unescaped = (field?: string): string | undefined => field?.replaceAll(/\\(.)/g, "$1");
  const fitting = logins.find((fields) =>
    wanted.every((value, at) => fields[at] === "*" || unescaped(fields[at]) === value),
  );
  return unescaped(fitting?.[wanted.length]);
}
