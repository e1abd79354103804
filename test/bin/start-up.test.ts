import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { machineWithVaults, vaults } from "../completion/support.ts";
import { loadedBy } from "../support/loaded-modules.ts";
import { runVault } from "../support/run-vault.ts";
import { tempDir } from "../support/temp-dir.ts";

/** What costs time and is needed by few commands; node:net and node:http pull in half of the runtime. */
const costly = /^(undici|zod|conf|ajv|chalk|@inquirer\/.*|node:(sqlite|http|https|tls|stream|crypto))$/;

test.each([
  ["--version"],
  ["--help"],
  ["get", "--help"],
  ["sandbox", "--help"],
  ["help", "environment"],
  ["help", "--json"],
  ["completion", "bash"],
  ["__complete", ""],
  ["__complete", "get", "--kind", ""],
  ["__complete", "--profile", ""],
])("vault %s %s %s loads nothing costly", async (...args) => {
  const { result, packages, builtins } = await loadedBy(args);
  expect(result).toMatchObject({ code: 0, stderr: "" });
  // Tests connect their children by a socket, which needs it; a pipe, a file or a terminal does not.
  const streamsOfSockets = ["node:net", "node:stream"];
  expect([...packages, ...builtins].filter((name) => costly.test(name) && !streamsOfSockets.includes(name))).toEqual([]);
});

test("of what costs, completion of vaults loads SQLite alone", async () => {
  const { result, packages, builtins } = await loadedBy(["__complete", "get", ""], { stateDir: (await machineWithVaults()).stateDir });
  expect(result.stdout).toContain(vaults[0].uuid);
  const streamsOfSockets = ["node:net", "node:stream"];
  expect([...packages, ...builtins].filter((name) => costly.test(name) && !streamsOfSockets.includes(name))).toEqual(["node:sqlite"]);
});

test("only a topic loads what reads Markdown", async () => {
  expect((await loadedBy(["help", "lockout"])).packages).toContain("marked");
  expect((await loadedBy(["help", "get"])).packages).not.toContain("marked");
});

test("--version loads no package at all", async () => {
  const { packages, sources } = await loadedBy(["--version"]);
  expect(packages).toEqual([]);
  expect(sources).not.toContain("cli/program.ts");
});

test("the list sees what is loaded", async () => {
  const { packages, builtins } = await loadedBy(["status", "--json"], { stateDir: tempDir("state"), configDir: tempDir("config") });
  expect(packages).toContain("commander");
  expect([...packages, ...builtins].some((name) => costly.test(name))).toBe(true);
});

test("compiled code is cached in a private folder of this user, and only there", async () => {
  const home = tempDir("home");
  const cache = join(home, ".cache", "vaultsvc");
  await runVault(["--version"], { env: { HOME: home, XDG_CACHE_HOME: undefined } });
  expect(existsSync(cache)).toBe(false);
  await runVault(["--help"], { env: { HOME: home, XDG_CACHE_HOME: undefined } });
  expect(statSync(cache).mode & 0o777).toBe(0o700);
  expect(readdirSync(cache)).toHaveLength(1);

  const shared = tempDir("shared");
  mkdirSync(join(shared, "vaultsvc"));
  chmodSync(join(shared, "vaultsvc"), 0o770);
  expect(await runVault(["--help"], { env: { XDG_CACHE_HOME: shared } })).toMatchObject({ code: 0, stderr: "" });
  expect(readdirSync(join(shared, "vaultsvc"))).toEqual([]);
  expect(await runVault(["--help"], { env: { HOME: join(home, "missing"), XDG_CACHE_HOME: undefined } })).toMatchObject({
    code: 0,
    stderr: "",
  });
  expect(existsSync(join(home, "missing"))).toBe(false);
});
