import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "./temp-dir.ts";
import { atEndOfFile } from "./end-of-file.ts";
import type { Postgres } from "./postgres.ts";
import { freePort, locationAt } from "./postgres.ts";

/** Whether PgBouncer is installed. */
export const hasPgBouncer = spawnSync("pgbouncer", ["--version"]).status === 0;

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
