import { expect, test } from "vitest";
import { loadedBy } from "../support/loaded-modules.ts";
import { tempDir } from "../support/temp-dir.ts";

/** What costs time and is needed by few commands; node:net and node:http pull in half of the runtime. */
const costly = /^(undici|zod|conf|ajv|chalk|cli-table3|@inquirer\/.*|node:(sqlite|http|https|tls|stream|crypto))$/;

test.each([["--version"], ["--help"], ["get", "--help"], ["sandbox", "--help"]])("vault %s %s loads nothing costly", async (...args) => {
  const { result, packages, builtins } = await loadedBy(args);
  expect(result).toMatchObject({ code: 0, stderr: "" });
  // Tests connect their children by a socket, which needs it; a pipe, a file or a terminal does not.
  const streamsOfSockets = ["node:net", "node:stream"];
  expect([...packages, ...builtins].filter((name) => costly.test(name) && !streamsOfSockets.includes(name))).toEqual([]);
});

test("--version loads no package at all", async () => {
  const { packages, sources } = await loadedBy(["--version"]);
  expect(packages).toEqual([]);
  expect(sources).not.toContain("program.ts");
});

test("the list sees what is loaded", async () => {
  const { packages, builtins } = await loadedBy(["status", "--json"], { stateDir: tempDir("state"), configDir: tempDir("config") });
  expect(packages).toContain("commander");
  expect([...packages, ...builtins].some((name) => costly.test(name))).toBe(true);
});
