import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { releaseLockFile, tryLockFile } from "../../src/files/lock-file.ts";
import { schemaVersion } from "../../src/store/postgres/schema.ts";
import { migrations } from "../../src/store/sqlite/database.ts";
import { deriveKey, seal } from "../../src/secrets/sealing.ts";
import { VaultRows, type ExchangeRow } from "../../src/store/steps/rows.ts";
import { postgres } from "../support/postgres.ts";
import { runHere } from "../support/machine.ts";
import type { RunResult } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";

// What version 1 has left on disks, in databases and in backups: one vault read, one held after an update, one only imported, and an
// online one whose start got no answer, all with test contents. Never changed: users have the like. Its documents are read by
// exchange/recovery.test.ts.
const fixtures = join(import.meta.dirname, "..", "fixtures", "version-1");
const text = (name: string): string => readFileSync(join(fixtures, name), "utf8");

it("a token is read that was sealed as it is", () => {
  const token = "token";
  const key = deriveKey(Buffer.alloc(32, 7));
  const vault = { service: "https://vault.example", uuid: "v" };
  const place = { ...vault, column: "exchanges.token", row: "x1" } as const;
  const row = { id: "x1", token: seal(key, place, token) } as ExchangeRow;
  expect(new VaultRows({ ...vault, at: "" }).openToken(row, key)).toBe(token);
});

interface Exported {
  uuid: string;
  label: string | null;
  credentials: Record<string, unknown>;
}

/** What no later version may lose of what was exported. */
const secretsIn = (ndjson: string): unknown[] =>
  ndjson
    .trim()
    .split("\n")
    .map((line) => {
      const { uuid, label, credentials } = JSON.parse(line) as Exported;
      const { old, new: offered, token, encryptedData, payload, hashedPin } = credentials;
      return { uuid, label, old, offered, token, encryptedData, payload, hashedPin };
    })
    .toSorted((a, b) => a.uuid.localeCompare(b.uuid));

/** Runs the program with the configuration and the key of the fixtures. */
function withState(stateDir: string) {
  const configDir = tempDir("config");
  for (const name of ["config.json", "state.key"]) {
    copyFileSync(join(fixtures, name), join(configDir, name));
    chmodSync(join(configDir, name), 0o600);
  }
  return async (...args: string[]): Promise<RunResult> =>
    await runHere(args, {
      home: configDir,
      env: { VAULTSVC_STATE: stateDir, VAULTSVC_CONFIG_DIR: configDir },
    });
}

/** A local state of the fixtures, and where its database is; `more` is run in it. */
function localState(name = "local.sql", more = "") {
  const stateDir = join(tempDir("version-1"), "state");
  mkdirSync(stateDir, { mode: 0o700 });
  const file = join(stateDir, "vault.db");
  const database = new DatabaseSync(file);
  database.exec(text(name) + more);
  database.close();
  return { stateDir, file, vault: withState(stateDir) };
}

/** A shared state of the fixtures; `more` is run in it. */
async function sharedState(more = "") {
  const { sql, location, port } = await postgres();
  await sql(
    `DROP SCHEMA IF EXISTS team CASCADE; CREATE SCHEMA team; ${text("shared.sql")}; ${more}`,
  );
  return { sql, port, vault: withState(location("team")) };
}

/** All that the state had is there, and it can be written. */
async function expectWhole(vault: (...args: string[]) => Promise<RunResult>): Promise<void> {
  const status = await vault("status", "--json");
  const { vaults } = JSON.parse(status.stdout) as { vaults: Record<string, unknown>[] };
  expect(vaults).toMatchObject([
    { label: "first", unackedStarts: 0, limits: { unackedStarts: 7 } },
    { status: "unverified" },
    { status: "unverified", unackedStarts: 1, failedAttempts: 1 },
    { exchange: { operation: "get" }, unackedStarts: 1 },
  ]);
  const exported = await vault("export", "--all");
  expect(exported).toMatchObject({ code: 0 });
  expect(secretsIn(exported.stdout)).toEqual(secretsIn(text("exported.ndjson")));
  expect(await vault("label", "first", "second")).toMatchObject({ code: 0 });
  expect((await vault("guard", "--json")).stdout).toContain('"breakers"');
}

describe("version 1 is read, with all that it has", () => {
  it("a local state", async () => {
    const { file, vault } = localState();
    await expectWhole(vault);
    const opened = new DatabaseSync(file);
    expect(opened.prepare("PRAGMA user_version").get()).toEqual({
      user_version: migrations.length,
    });
    opened.close();
  });

  it("a shared state", async () => {
    const { sql, vault } = await sharedState();
    const refused = async (way: string): Promise<void> =>
      expect(await vault("status")).toMatchObject({
        code: 14,
        stderr: expect.stringContaining(way) as string,
      });
    await refused("vault state init");
    // The fixture is a copy.
    expect(await vault("state", "init")).toMatchObject({
      code: 14,
      stderr: expect.stringContaining("vault state claim") as string,
    });
    await refused("vault state claim");
    expect(await vault("state", "claim", "--yes")).toMatchObject({ code: 0 });
    await expectWhole(vault);
    expect(await sql("SELECT value FROM team.meta WHERE name = 'version'")).toEqual([
      { value: String(schemaVersion) },
    ]);
  });

  it("a backup", async () => {
    const file = join(tempDir("backup"), "backup.db");
    cpSync(join(fixtures, "backup.db"), file);
    const vault = withState(join(tempDir("version-1"), "state"));
    const restored = await vault("state", "restore", file, "--json");
    expect(restored).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(restored.stdout)).toMatchObject({ restored: { format: 1 } });
    await expectWhole(vault);
  });

  it("a run that was left open: what is done of it, and what it delivers to", async () => {
    const { vault } = localState("run-left-open.sql");
    const run = ["get", "--all", "--run", "payments", "--exec"];
    const same = await vault(
      ...run,
      'cat > /dev/null; test "$VAULTSVC_VAULT_LABEL" = first',
      "--dry-run",
      "--json",
    );
    expect(same).toMatchObject({ code: 0 });
    expect(JSON.parse(same.stdout)).toMatchObject({ plan: { vaults: 1, calls: 2, skipped: [] } });
    expect(await vault(...run, "cat")).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("--run payments") as string,
    });
  });

  it("a configuration, and a secret in it that the key file opens", async () => {
    const vault = withState(join(tempDir("version-1"), "state"));
    const { stdout } = await vault("config", "list", "--json");
    const { settings } = JSON.parse(stdout) as { settings: { key: string; value: unknown }[] };
    expect(Object.fromEntries(settings.map(({ key, value }) => [key, value]))).toMatchObject({
      baseUrl: "http://127.0.0.1:45999",
      appUuid: "0c4d0f2a-4b54-4f0c-9a44-6c6f1f7f1a10",
      device: { browserType: "Firefox", fonts: ["Arial"] },
      rateLimit: 0,
      live: false,
      "policy.unackedStarts": 7,
    });
    expect(await vault("config", "get", "apiKey", "--reveal")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^6a4b0b8e-55f3-4e1c-8c3b-0a3c7a1d9b72\n?$/) as string,
    });
  });
});

/** What it has written in place of its version then. */
const givenUp = 1_000_000;

/** The mark of a move that version 1 has begun, or ended. */
const moveTo = (to: string, target = "another"): string =>
  JSON.stringify({ move: "a move", to, target });
const gone = join(tempDir("gone"), "there");

describe("a state that version 1 has given up for a move", () => {
  it("is left to that version, and not touched", async () => {
    const { file, vault } = localState(
      "local.sql",
      `INSERT INTO meta VALUES ('fence', '${moveTo(gone)}'); PRAGMA user_version = ${givenUp}`,
    );
    const before = readFileSync(file);
    for (const args of [["status"], ["state", "claim", "--yes"]])
      expect(await vault(...args)).toMatchObject({
        code: 14,
        stderr: expect.stringContaining("finish or cancel the move with that version") as string,
      });
    expect(readFileSync(file)).toEqual(before);
  });

  it("is claimed where it is shared, once it is brought up to date", async () => {
    const { vault } = await sharedState(`INSERT INTO team.meta VALUES ('fence', '${moveTo(gone)}');
      UPDATE team.meta SET value = '${givenUp}' WHERE name = 'oldest'`);
    const claimed = { code: 14, stderr: expect.stringContaining("vault state claim") as string };
    expect(await vault("state", "init")).toMatchObject(claimed);
    expect(await vault("status")).toMatchObject(claimed);
    expect(await vault("state", "claim", "--yes")).toMatchObject({ code: 0 });
    expect(await vault("export", "--all")).toMatchObject({ code: 0 });
  });
});

describe("whoever uses a vault by version 1", () => {
  it("is waited for before the tables of a local state change", async () => {
    const { stateDir, file, vault } = localState();
    mkdirSync(join(stateDir, "locks"), { mode: 0o700 });
    const lock = tryLockFile(join(stateDir, "locks", "37.lock"));
    const status = vault("status");
    await expect.poll(() => existsSync(join(stateDir, "locks", "36.lock"))).toBe(true);
    const database = new DatabaseSync(file);
    expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: 1 });
    database.close();
    if (lock !== null) releaseLockFile(lock);
    expect(await status).toMatchObject({ code: 0 });
  });

  it("keeps a vault of a shared state until its lease has ended", async () => {
    const { sql, vault } = await sharedState(`INSERT INTO team.leases VALUES
      ('9ac2ebff-e784-483e-8289-0b6d7846991b', gen_random_uuid(), 0, '{}', clock_timestamp(), clock_timestamp() + interval '1 hour')`);
    expect(await vault("state", "init")).toMatchObject({ code: 15 });
    expect(await sql("SELECT value FROM team.meta WHERE name = 'version'")).toEqual([
      { value: "1" },
    ]);
  });

  it("loses nothing that it commits while a shared state is brought up to date", async () => {
    const { sql, port, vault } = await sharedState();
    const client = new pg.Client({
      connectionString: `postgres://postgres:password@127.0.0.1:${port}/postgres`,
    });
    await client.connect();
    await client.query("BEGIN; UPDATE team.leases SET step = step + 1");
    await client.query(`UPDATE team.exchanges SET state = 'ending' WHERE state = 'held'`);
    const init = vault("state", "init");
    const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    await expect.poll(async () => (await sql(waiting)).length, { timeout: 10_000 }).toBe(1);
    await client.query("COMMIT");
    await client.end();
    await init;
    const [open] = await sql(
      `SELECT doc FROM team.vaults WHERE status = 'open' AND doc LIKE '%"ending"%'`,
    );
    expect(open).toBeDefined();
  });
});

describe("the first command that meets a local state of version 1", () => {
  it.each([
    ["state", "move", "--to", join(tempDir("moved"), "state"), "--yes"],
    ["state", "restore", join(fixtures, "backup.db"), "--yes"],
    ["state", "backup", join(tempDir("backup"), "backup.db")],
    ["state", "rekey", "--yes"],
  ])("%s %s", async (...args) => {
    expect(await localState().vault(...args)).toMatchObject({ code: 0 });
  });

  it("is doctor, which changes nothing", async () => {
    const { file, vault } = localState();
    const before = readFileSync(file);
    const { stdout } = await vault("doctor", "--json");
    const { checks } = JSON.parse(stdout) as { checks: Record<string, unknown>[] };
    expect(checks.find(({ check }) => check === "state")).toMatchObject({
      level: "ok",
      message: expect.stringContaining("4 vaults") as string,
    });
    expect(readFileSync(file)).toEqual(before);
  });
});

it("a state of a newer version is refused and not touched", async () => {
  const { file, vault } = localState();
  const database = new DatabaseSync(file);
  database.exec("PRAGMA user_version = 99;");
  database.close();
  const before = readFileSync(file);
  const { code, stderr } = await vault("status");
  expect(code).toBe(14);
  expect(stderr).toMatch(/newer version of this program \(format 99, known: 2\)/);
  expect(stderr).toMatch(/update this program, or use another directory/);
  expect(readFileSync(file)).toEqual(before);
});
