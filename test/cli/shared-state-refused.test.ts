import { shellWord } from "../../src/way.ts";
import { chmodSync, chownSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import pg from "pg";
import { beforeAll, describe, expect, it, test } from "vitest";
import { certificateAuthority, type Certificate } from "../support/keys.ts";
import type { Lab } from "../support/lab.ts";
import {
  expectError,
  expectExit,
  firstGet,
  firstGetArgs,
  offlineNote,
  openLab,
} from "../support/lab.ts";
import { errorOf, type Machine } from "../support/machine.ts";
import { sql } from "../support/state-file.ts";
import { standbyOf, startServer, type Postgres } from "../support/postgres.ts";
import type { RunResult } from "../support/run-vault.ts";
import { mayMount, smallDisk } from "../support/disks.ts";

let server: Postgres;
let lab: Lab;
let machine: Machine;
/** Host and port of the server, as in an address. */
let at: string;

beforeAll(async () => {
  server = await startServer({ max_connections: "40" });
  at = `127.0.0.1:${server.port}`;
  lab = await openLab(offlineNote);
  machine = lab.machine({ stateDir: server.location("vaultsvc") });
  await machine.ok("state", "init");
  await server.sql("CREATE ROLE runner LOGIN PASSWORD 'of-the-runner'");
});

const runner = (): string => `postgres://runner:of-the-runner@${at}/postgres`;

/** The first read of the vault with another address: what it says, and that nothing was sent. */
async function refused(location: string): Promise<RunResult> {
  const sent = lab.service.sandbox.requests().length;
  const args = [...firstGetArgs(machine, lab.vault), "--json", "--max-wait", "1s"];
  const result = await machine.vaultWith({ env: { VAULTSVC_STATE: location } }, ...args);
  expect(lab.service.sandbox.requests()).toHaveLength(sent);
  expect(result.stdout).toBe("");
  expect(result.stderr.trimEnd().split("\n")).toHaveLength(1);
  return result;
}

async function expectRefused(
  location: string,
  message: RegExp,
  hint: RegExp | null,
): Promise<void> {
  const result = await refused(location);
  expectError(result, "state", message);
  const { help: said } = errorOf(result);
  if (hint === null) expect(said).toBe("");
  else expect(said).toMatch(hint);
}

const expectSafe = (result: RunResult, message: RegExp, hint = "run it again"): void => {
  expectError(result, "state", message);
  expect(errorOf(result).retry).toBe("safe");
  expect(errorOf(result).help).toContain(hint);
};

/** Changes settings of the running server; without a value the default. */
async function set(settings: Record<string, string | null>): Promise<void> {
  for (const [name, value] of Object.entries(settings))
    await server.sql(
      value === null ? `ALTER SYSTEM RESET ${name}` : `ALTER SYSTEM SET ${name} = '${value}'`,
    );
  await server.sql("SELECT pg_reload_conf()");
  const shown = async (): Promise<unknown[]> =>
    await Promise.all(
      Object.keys(settings).map(
        async (name) => Object.values((await server.sql(`SHOW ${name}`))[0] ?? {})[0],
      ),
    );
  await expect
    .poll(shown)
    .toEqual(Object.values(settings).map((value) => value ?? (expect.anything() as unknown)));
}

describe("who is not let in is told why, and nothing is sent", () => {
  it("by the password: a wrong one, none, and one in ~/.pgpass", async () => {
    const own = `postgres://postgres@${at}/postgres`;
    await expectRefused(
      `postgres://postgres:wrong@${at}/postgres`,
      /:\d+ refused the connection \(password authentication failed .*, 28P01\)$/,
      /PGPASSWORD/,
    );
    await expectRefused(own, /empty password returned by client, 28P01\)$/, /PGPASSWORD/);
    const lines = `other:*:*:*:wrong\n127.0.0.1:${server.port}:postgres:postgres:password\n`;
    const file = machine.file(".pgpass", lines);
    chmodSync(file, 0o600);
    const run = await machine.start({ env: { VAULTSVC_STATE: own } }, "status").exit;
    expectExit(run, 0);
    expect(run.stderr).toBe("");
    chmodSync(file, 0o644);
    const open = await machine.vaultWith({ env: { VAULTSVC_STATE: own } }, "status", "--json");
    expect(open.stderr).toMatch(/\.pgpass is not used: other users can read it \(chmod 600 /);
    expectError(open, "state", /empty password/);
    writeFileSync(file, "");
    chmodSync(file, 0o600);
  });

  it("by the database, the role and its rights", async () => {
    await expectRefused(
      `postgres://postgres:password@${at}/nothing`,
      /refused the connection \(database "nothing" does not exist, 3D000\)$/,
      null,
    );
    const granting = (settings: string): string =>
      `vault state init --state ${shellWord(`postgres://OWNER@${at}/postgres${settings}`)} --grant runner`;
    const denied = await refused(runner());
    const why = /its role runner lacks a right \(permission denied for schema vaultsvc\)/;
    expectError(denied, "state", why);
    const owner = "(OWNER is the role that made the state, or owns the database)";
    expect(errorOf(denied).help).toBe(`${granting("")} ${owner}`);
    const env = { VAULTSVC_STATE: `${runner()}?schema=own` };
    const init = await machine.vaultWith({ env }, "state", "init", "--json");
    expectError(init, "state", /permission denied for database/);
    expect(errorOf(init).help).toBe(`${granting("?schema=own")} ${owner}`);
  });

  it("by a host that is not there, safe to repeat", async () => {
    expectSafe(
      await refused("postgres://postgres@127.0.0.1:1/postgres"),
      /127\.0\.0\.1:1 cannot be reached \(.*ECONNREFUSED.*\); nothing was sent$/,
      "run it again when the database is there",
    );
    expectSafe(
      await refused("postgres://postgres@nowhere.invalid/postgres?sslmode=disable"),
      /cannot be reached \(.*(?:ENOTFOUND|EAI_AGAIN).*\); nothing was sent$/,
    );
  });

  it("by a server without a connection left, safe to repeat", async () => {
    const others: pg.Client[] = [];
    const connect = async (): Promise<boolean> => {
      const other = new pg.Client(runner());
      other.on("error", () => undefined);
      others.push(other);
      return await other.connect().then(
        () => true,
        () => false,
      );
    };
    while (await connect());
    expectSafe(await refused(runner()), /refused the connection \(.*, 53300\); nothing was sent$/);
    await Promise.all(others.map(async (other) => await other.end()));
  });

  test.each([
    ["sslmode=prefer", /sslmode prefer would not check/],
    ["sslmode=allow", /sslmode allow would not check/],
    ["sslmode=no-verify", /sslmode no-verify would not check/],
    ["options=-c%20fsync%3Doff", /behind its \? only schema .* are known/],
    ["sslrootcert=/not/there.pem&sslmode=require", /sslrootcert.*ENOENT.*\/not\/there\.pem/],
  ])("by an address with %s", async (setting, message) => {
    expectError(await refused(`${server.location("vaultsvc")}&${setting}`), "usage", message);
  });

  it("by a certificate that does not show who the server is; with the authority's it is used", async () => {
    const own = `${server.location("vaultsvc")}&sslmode=require`;
    await expectRefused(
      own,
      /cannot be reached \(The server does not support SSL connections\)$/,
      /sslmode=disable$/,
    );
    const authority = certificateAuthority();
    const trusted = `${own}&sslrootcert=${machine.file("authority.pem", authority.cert)}`;
    await serve(authority.issue());
    await expectRefused(own, /cannot be reached \([^;]*certificate[^;]*\)$/, /^sslrootcert=FILE/);
    for (const location of [trusted, trusted.replace("127.0.0.1", "localhost")]) {
      const run = await machine.start({ env: { VAULTSVC_STATE: location } }, "status").exit;
      expectExit(run, 0);
      expect(run.stderr).toBe("");
    }
    await serve(authority.issue({ ip: "10.0.0.1", dns: "localhost" }));
    await expectRefused(
      trusted,
      /cannot be reached \(.*127\.0\.0\.1 is not in the cert's list/,
      /the certificate names it/,
    );
    await serve(authority.issue({ dns: "db.example" }));
    await expectRefused(
      trusted.replace("127.0.0.1", "localhost"),
      /cannot be reached \(.*localhost/,
      /names it/,
    );
    await serve(authority.issue({ to: "20210101000000Z" }));
    await expectRefused(trusted, /cannot be reached \(certificate has expired\)$/, /./);
  });
});

/** Has the server use a certificate. */
async function serve({ key, cert }: Certificate): Promise<void> {
  const { uid, gid } = statSync(server.data);
  for (const [name, text] of Object.entries({ "server.key": key, "server.crt": cert })) {
    const path = join(server.data, name);
    writeFileSync(path, text, { mode: 0o600 });
    chownSync(path, uid, gid);
  }
  const loaded = async (): Promise<unknown> =>
    (await server.sql("SELECT pg_conf_load_time()::text AS at"))[0]?.["at"];
  const before = await loaded();
  await server.sql("ALTER SYSTEM SET ssl = on");
  await server.sql("SELECT pg_reload_conf()");
  await expect.poll(loaded).not.toBe(before);
}

describe("a server that cannot keep what it is told is not used, and nothing is sent", () => {
  it("with fsync=off, unless a person vouches for it", async () => {
    const own = server.location("vaultsvc");
    await set({ fsync: "off" });
    await expectRefused(
      own,
      /loses what it has committed when it stops \(fsync=off\)$/,
      /^set fsync=on there; .*durable=assumed/,
    );
    // Nothing is made there either.
    const unmade = { env: { VAULTSVC_STATE: server.location("unmade") } };
    expectExit(await machine.vaultWith(unmade, "state", "init"), 14);
    expect(await server.sql("SELECT FROM pg_namespace WHERE nspname = 'unmade'")).toEqual([]);
    const assumed = { env: { VAULTSVC_STATE: `${own}&durable=assumed` } };
    const vouched = await machine.vaultWith(assumed, "status");
    await set({ fsync: "on" });
    expectExit(vouched, 0);
  });

  it("with a newer schema", async () => {
    await server.sql("UPDATE vaultsvc.meta SET value = '9' WHERE name IN ('oldest', 'version')");
    await expectRefused(server.location("vaultsvc"), /of a newer version$/, /^update vault$/);
    await server.sql("UPDATE vaultsvc.meta SET value = '9' WHERE name = 'version'");
    await server.sql("UPDATE vaultsvc.meta SET value = '1' WHERE name = 'oldest'");
    await machine.ok("status");
    await machine.ok("state", "init");
    const version = "SELECT value FROM vaultsvc.meta WHERE name = 'version'";
    expect(await server.sql(version)).toEqual([{ value: "9" }]);
  });

  it("with an older schema, until state init has brought it up to date", async () => {
    await server.sql("UPDATE vaultsvc.meta SET value = '0' WHERE name = 'version'");
    await server.sql("DROP TABLE vaultsvc.limiter");
    await expectRefused(
      server.location("vaultsvc"),
      /it is of an older version$/,
      /^vault state init --state 'postgres:.*'$/,
    );
    const { stdout } = await machine.ok("state", "init");
    expect(stdout).toMatch(/^The shared state \S+ already exists /);
    await machine.ok("status");
  });

  it("with time limits or read-only transactions for its role", async () => {
    await machine.ok("state", "init", "--grant", "runner");
    await server.sql("ALTER ROLE runner SET default_transaction_read_only = on");
    await expectRefused(
      runner(),
      /the server says cannot execute \w+ in a read-only transaction \(25006\)$/,
      null,
    );
    await server.sql("ALTER ROLE runner RESET default_transaction_read_only");
    const blocking = new pg.Client(`postgres://postgres:password@${at}/postgres`);
    await blocking.connect();
    await blocking.query("BEGIN; LOCK vaultsvc.vaults");
    await server.sql("ALTER ROLE runner SET statement_timeout = '50ms'");
    expectSafe(await refused(runner()), /the server says .*statement timeout \(57014\)$/, "");
    await server.sql("ALTER ROLE runner RESET statement_timeout");
    await blocking.end();
  });

  it("that is a standby; of several hosts the first one that is none is used", async () => {
    const own = server.location("vaultsvc");
    const standby = await standbyOf(server);
    const first = (hosts: string): string => own.replace(at, hosts);
    await expectRefused(standby.location("vaultsvc"), /the server is a read-only standby$/, null);
    const both = new RegExp(
      `: 127\\.0\\.0\\.1:1 cannot be reached \\(.*ECONNREFUSED.*\\); 127\\.0\\.0\\.1:${standby.port} is a read-only standby; nothing was sent$`,
    );
    const twoHosts = first(`127.0.0.1:1,127.0.0.1:${standby.port}`);
    expectSafe(await refused(twoHosts), both);
    // It is there: a state that was moved to it is not claimed where it was.
    const left = lab.machine();
    await left.ok("state", "init");
    const moved = JSON.stringify({ move: "a move", to: twoHosts, target: "a state" });
    sql(join(left.stateDir, "vault.db"), `INSERT INTO meta VALUES ('moved', '${moved}')`);
    const claimed = await left.vault("state", "claim", "--yes", "--json");
    expectError(
      claimed,
      "state",
      /cannot be told: .* is a read-only standby.*; nothing was changed$/,
    );
    for (const hosts of [`127.0.0.1:${standby.port},${at}`, `127.0.0.1:1,${at}`]) {
      await machine.okWith({ env: { VAULTSVC_STATE: first(hosts) } }, "status");
    }
  });

  it.skipIf(!mayMount)("on a full disk (skipped where nothing can be mounted)", async () => {
    const disk = smallDisk(256);
    const { uid, gid } = statSync(server.data);
    chmodSync(dirname(disk), 0o711);
    chownSync(disk, uid, gid);
    const own = server.location("tight");
    await machine.okWith({ env: { VAULTSVC_STATE: own } }, "state", "init");
    await server.sql(`CREATE TABLESPACE small LOCATION '${disk}'`);
    await server.sql("ALTER TABLE tight.journal SET TABLESPACE small");
    // Filled by a file: rows would be stopped first by whatever else the server makes beside them.
    const rest = Buffer.alloc(256 * 1024);
    expect(() => {
      writeFileSync(join(disk, "rest"), rest);
    }).toThrow("ENOSPC");
    const entry =
      "INSERT INTO tight.journal (at, service, uuid, event, detail) VALUES ('', '', '', '', '')";
    await expect(
      server.sql(`DO $$ BEGIN LOOP ${entry}; COMMIT; END LOOP; END $$`),
    ).rejects.toMatchObject({ code: "53100" });
    await expectRefused(own, /the server says .* \(53100\)$/, null);
    await server.sql("DROP SCHEMA tight CASCADE");
    await server.sql("DROP TABLESPACE small");
  });
});

it("variables of PostgreSQL that are not used have no effect", async () => {
  const options = "-c synchronous_commit=off -c foo=1";
  const env = {
    PGOPTIONS: options,
    PGSSLNEGOTIATION: "direct",
    PGREPLICATION: "true",
    PGAPPNAME: "x",
  };
  const run = await machine.start({ env }, "status").exit;
  expectExit(run, 0);
  expect(run.stderr).toBe("");
});

it("a role that owns nothing does all that vaults need, by --grant alone", async () => {
  await machine.ok("state", "init", "--grant", "runner");
  const { configDir } = machine;
  const team = lab.machine({ stateDir: runner(), configDir });
  const { uuid } = lab.vault;
  expectExit(await firstGet(team, lab.vault), 0);
  await team.ok("update", uuid, "--content", "new contents", "--json");
  await team.ok("get", uuid, "--no-ack", "--json");
  await team.ok("ack", uuid);
  await team.ok("label", uuid, "palm");
  await team.ok("status", "palm");
  const exported = await team.ok("export", uuid, "--json");
  await team.ok("guard", uuid, "--reset", "--yes");
  await team.ok("state", "locks");
  await team.ok("forget", uuid, "--yes");
  await team.ok(
    "import",
    uuid,
    ...team.given(
      (JSON.parse(exported.stdout) as { credentials: unknown }).credentials,
      lab.vault.kind,
    ),
  );
  const created = await team.ok(
    "create",
    "--kind",
    "generic/offline",
    "--content",
    `@${team.file("note.txt", "a note")}`,
    "--json",
  );
  await team.ok("delete", (JSON.parse(created.stdout) as { uuid: string }).uuid, "--yes");
});
