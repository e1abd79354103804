import { describe, expect, it, test } from "vitest";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { actorOf } from "../../../src/actor.ts";
import { passwordFromFile } from "../../../src/store/postgres/address.ts";
import { openShared } from "../../../src/store/postgres/store.ts";
import { tempDir } from "../../support/cleanup.ts";
import { machineClock } from "../temporary-state.ts";

const login = { host: "db", port: 5432, database: "vaults", user: "ada" };

function passwordIn(text: string, of = login): string | undefined {
  const home = tempDir("pgpass");
  writeFileSync(join(home, ".pgpass"), text, { mode: 0o600 });
  return passwordFromFile(home, of, (warning) => {
    throw new Error(warning);
  });
}

describe("a password file", () => {
  test.each([
    ["db:5432:vaults:ada:secret", "secret"],
    ["*:*:*:*:secret", "secret"],
    ["#db:5432:vaults:ada:no\n\nother:*:*:*:no\ndb:*:*:ada:first\ndb:*:*:ada:second\n", "first"],
    ["db:5432:vaults:ada:se\\:cr\\\\et\r\n", "se:cr\\et"],
    ["db:5433:vaults:ada:no", undefined],
    ["db:5432:vaults:eve:no", undefined],
    ["db:5432", undefined],
    ["", undefined],
  ])("%j has the password %j", (text, password) => {
    expect(passwordIn(text)).toBe(password);
  });

  it("names a folder of sockets localhost, and escapes colons of a host", () => {
    expect(passwordIn("localhost:*:*:*:secret", { ...login, host: "/run/postgresql" })).toBe(
      "secret",
    );
    expect(passwordIn("\\:\\:1:*:*:*:secret", { ...login, host: "::1" })).toBe("secret");
  });
});

it("is read at each login and not before: it may be renewed, and not every command logs in", async () => {
  const directory = tempDir("pgpass");
  const file = join(directory, ".pgpass");
  writeFileSync(file, "*:*:*:*:former", { mode: 0o644 });
  const [warnings, secrets]: [string[], string[]] = [[], []];
  const state = openShared(
    "postgres://ada@127.0.0.1:1/vaults",
    { HOME: directory },
    (secret) => secrets.push(secret),
    {
      directory,
      keySource: { folder: directory },
      clock: machineClock,
      by: actorOf(process.pid),
      warn: (message) => warnings.push(message),
    },
  );
  expect(warnings).toEqual([]);
  await expect(state.locks()).rejects.toThrow("cannot be reached");
  expect(warnings).toEqual([expect.stringContaining("is not used: other users can read it")]);
  writeFileSync(file, "*:*:*:*:renewed");
  chmodSync(file, 0o600);
  await expect(state.locks()).rejects.toThrow("cannot be reached");
  expect(secrets).toEqual(["renewed"]);
});
