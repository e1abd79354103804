import { describe, expect, it, test } from "vitest";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { passwordFromFile } from "../../../src/store/postgres/address.ts";
import { tempDir } from "../../support/cleanup.ts";

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
