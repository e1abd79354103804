import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { migrations } from "../../src/store/sqlite/schema.ts";
import { runVault } from "../support/run-vault.ts";
import { tempDir } from "../support/temp-dir.ts";

// States as the versions of their time have left them: one read, one held, one only imported, all with test contents. Each new schema
// brings another fixture; none is ever changed.
const fixtures = join(import.meta.dirname, "..", "fixtures", "states");
const service = { VAULTSVC_BASE_URL: "http://127.0.0.1:45999", VAULTSVC_APP_UUID: "a", VAULTSVC_API_KEY: "k" };

interface Exported {
  uuid: string;
  credentials: Record<string, unknown>;
}

const lines = (text: string): Exported[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Exported);

/** The state of a fixture, and where its database is. */
function unpacked(version: number) {
  const [stateDir, configDir] = [join(tempDir("upgrade"), "state"), tempDir("config")];
  mkdirSync(stateDir, { mode: 0o700 });
  copyFileSync(join(fixtures, `schema-${version}.key`), join(configDir, "state.key"));
  const file = join(stateDir, "vault.db");
  const database = new DatabaseSync(file);
  database.exec(readFileSync(join(fixtures, `schema-${version}.sql`), "utf8"));
  database.close();
  return { file, options: { stateDir, configDir, env: service } };
}

it.each(migrations.map((_, n) => n + 1))("a state of schema %i is brought up to date with all credentials", async (version) => {
  const { file, options } = unpacked(version);
  const { code, stdout, stderr } = await runVault(["export", "--all"], options);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  const secrets = ({ uuid, credentials: { old, new: offered, token, encryptedData, payload } }: Exported) =>
    JSON.stringify({ uuid, old, offered, token, encryptedData, payload });
  const expected = lines(readFileSync(join(fixtures, `schema-${version}.ndjson`), "utf8"));
  expect(lines(stdout).map(secrets).toSorted()).toEqual(expected.map(secrets).toSorted());
  expect((await runVault(["label", expected[0]?.uuid ?? "", "new"], options)).code).toBe(0);
  const migrated = new DatabaseSync(file);
  expect(migrated.prepare("PRAGMA user_version").get()).toEqual({ user_version: migrations.length });
  migrated.close();
});

it("a state of a newer schema is refused with the version that is needed, and not touched", async () => {
  const { file, options } = unpacked(migrations.length);
  const database = new DatabaseSync(file);
  database.exec("UPDATE meta SET value = '9.1.0' WHERE name = 'known-since'; PRAGMA user_version = 99;");
  database.close();
  const before = readFileSync(file);
  const { code, stderr } = await runVault(["status"], options);
  expect(code).toBe(14);
  expect(stderr).toMatch(/newer version of this program \(format 99, known: \d+\)/);
  expect(stderr).toContain("update this program to 9.1.0 or newer");
  expect(readFileSync(file)).toEqual(before);
});
