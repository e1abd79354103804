import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { schemaVersion } from "../../src/store/postgres/schema.ts";
import { migrations } from "../../src/store/sqlite/schema.ts";
import { postgres } from "../support/postgres.ts";
import type { RunResult } from "../support/run-vault.ts";
import { runVault } from "../support/run-vault.ts";
import { tempDir } from "../support/temp-dir.ts";

// States as the versions of their time have left them: one read, one held, one only imported, all with test contents. The newest schema
// has a fixture once it is released; none is ever changed.
const fixtures = join(import.meta.dirname, "..", "fixtures", "states");
const service = {
  VAULTSVC_BASE_URL: "http://127.0.0.1:45999",
  VAULTSVC_APP_UUID: "a",
  VAULTSVC_API_KEY: "k",
};

interface Exported {
  uuid: string;
  credentials: Record<string, unknown>;
}

const lines = (text: string): Exported[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Exported);

const secrets = ({
  uuid,
  credentials: { old, new: offered, token, encryptedData, payload },
}: Exported): string => JSON.stringify({ uuid, old, offered, token, encryptedData, payload });

/** What the version that left the state exported of it. */
const exported = (name: string): Exported[] =>
  lines(readFileSync(join(fixtures, `${name}.ndjson`), "utf8"));
const firstOf = (name: string): string => exported(name)[0]?.uuid ?? "";

/** All credentials of the fixture are there. */
function expectAll(name: string, { code, stdout, stderr }: RunResult): void {
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) as string });
  expect(lines(stdout).map(secrets).toSorted()).toEqual(exported(name).map(secrets).toSorted());
}

/** A configuration with the key of a fixture. */
function configured(name: string): string {
  const configDir = tempDir("config");
  copyFileSync(join(fixtures, `${name}.key`), join(configDir, "state.key"));
  return configDir;
}

/** The state of a fixture, and where its database is. */
function unpacked(version: number) {
  const [stateDir, configDir] = [
    join(tempDir("upgrade"), "state"),
    configured(`schema-${version}`),
  ];
  mkdirSync(stateDir, { mode: 0o700 });
  const file = join(stateDir, "vault.db");
  const database = new DatabaseSync(file);
  database.exec(readFileSync(join(fixtures, `schema-${version}.sql`), "utf8"));
  database.close();
  return { file, options: { stateDir, configDir, env: service } };
}

it.each(migrations.slice(1).map((_, n) => n + 1))(
  "a state of schema %i is brought up to date with all credentials",
  async (version) => {
    const { file, options } = unpacked(version);
    expectAll(`schema-${version}`, await runVault(["export", "--all"], options));
    expect((await runVault(["label", firstOf(`schema-${version}`), "new"], options)).code).toBe(0);
    const migrated = new DatabaseSync(file);
    expect(migrated.prepare("PRAGMA user_version").get()).toEqual({
      user_version: migrations.length,
    });
    migrated.close();
  },
);

const sharedVersions = Array.from({ length: schemaVersion - 1 }, (_, n) => n + 1);

it.each(sharedVersions)(
  "a shared state of schema %i is brought up to date by state init, with all credentials",
  async (version) => {
    const { sql, location } = await postgres();
    await sql(
      `DROP SCHEMA IF EXISTS team CASCADE; ${readFileSync(join(fixtures, `shared-${version}.sql`), "utf8")}`,
    );
    const options = {
      stateDir: location("team"),
      configDir: configured(`shared-${version}`),
      env: service,
    };
    const vault = async (...args: string[]) => await runVault(args, options);
    // The fixture is a copy.
    expect(await vault("state", "init")).toMatchObject({
      code: 14,
      stderr: expect.stringContaining("vault state claim") as string,
    });
    expect(await vault("state", "claim", "--yes")).toMatchObject({ code: 0 });
    expectAll(`shared-${version}`, await vault("export", "--all"));
    expect(await vault("label", firstOf(`shared-${version}`), "new")).toMatchObject({ code: 0 });
    expect(await sql("SELECT value FROM team.meta WHERE name = 'version'")).toEqual([
      { value: String(schemaVersion) },
    ]);
  },
);

it("a state that this program has made names no version that does not exist", async () => {
  const options = {
    stateDir: join(tempDir("newer"), "state"),
    configDir: tempDir("config"),
    env: service,
  };
  const pair = JSON.stringify({ encryptedData: "data", payload: "payload" });
  const uuid = "0f9b1c1e-2d3c-4b5a-8697-a8b9cadbecfd";
  const args = ["import", uuid, "--kind", "generic/offline", "--credentials", "-"];
  expect(await runVault(args, { ...options, input: pair })).toMatchObject({ code: 0 });
  const database = new DatabaseSync(join(options.stateDir, "vault.db"));
  database.exec("PRAGMA user_version = 99;");
  database.close();
  const { code, stderr } = await runVault(["status"], options);
  expect(code).toBe(14);
  expect(stderr).toMatch(/update this program, or use another directory/);
});

it("a state of a newer schema is refused with the version that is needed, and not touched", async () => {
  const { file, options } = unpacked(migrations.length - 1);
  const database = new DatabaseSync(file);
  database.exec(
    "UPDATE meta SET value = '9.1.0' WHERE name = 'known-since'; PRAGMA user_version = 99;",
  );
  database.close();
  const before = readFileSync(file);
  const { code, stderr } = await runVault(["status"], options);
  expect(code).toBe(14);
  expect(stderr).toMatch(/newer version of this program \(format 99, known: \d+\)/);
  expect(stderr).toContain("update this program to 9.1.0 or newer");
  expect(readFileSync(file)).toEqual(before);
});
