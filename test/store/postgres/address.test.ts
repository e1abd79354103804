import { describe, expect, it, test } from "vitest";
import { isSamePlace, parseAddress } from "../../../src/store/postgres/address.ts";

const parse = (location: string, env: Record<string, string> = {}) =>
  parseAddress(location, env, "me");

describe("the address of a shared state", () => {
  test.each([
    [
      "postgres://db/vaults",
      {
        hosts: [{ host: "db", port: 5432 }],
        user: "me",
        database: "vaults",
        schema: "vaultsvc",
        password: undefined,
      },
    ],
    [
      "postgresql://ada@db:6000/vaults",
      { hosts: [{ host: "db", port: 6000 }], user: "ada", database: "vaults" },
    ],
    [
      "postgres://ada:s%40cret@db/v",
      { user: "ada", password: "s@cret", shown: "postgres://ada@db:5432/v" },
    ],
    [
      "postgres://a:1,b,[::1]:3/v",
      {
        hosts: [
          { host: "a", port: 1 },
          { host: "b", port: 5432 },
          { host: "::1", port: 3 },
        ],
      },
    ],
    [
      "postgres://db/v?schema=team_a",
      { schema: "team_a", shown: "postgres://me@db:5432/v?schema=team_a" },
    ],
    [
      "postgres://",
      { hosts: [{ host: "localhost", port: 5432 }], user: "me", database: "me", tls: undefined },
    ],
    ["postgres://a%40b@db/v%2F1", { user: "a@b", database: "v/1" }],
    ["postgres://%2Frun%2Fpg/v", { hosts: [{ host: "/run/pg", port: 5432 }], tls: undefined }],
  ])("%s", (location, expected) => {
    expect(parse(location)).toMatchObject(expected);
    const { hosts, user, database, schema, shown } = parse(location);
    expect(parse(shown)).toMatchObject({ hosts, user, database, schema, shown });
  });

  it("is shown with the settings that reach it, and no password", () => {
    const settings = "sslmode=disable&durable=assumed&schema=team_a";
    const address = parse(`postgres://ada:s%40cret@db/v?${settings}`);
    expect(address.shown).toBe(`postgres://ada@db:5432/v?${settings}`);
    expect(parse(address.shown)).toEqual({ ...address, password: undefined });
  });

  it("is of the same place whatever its role, and how it is reached", () => {
    const shown = "postgres://ada@db:5432/v?sslmode=disable";
    expect(isSamePlace(shown, "postgres://eve@db:5432/v?schema=vaultsvc")).toBe(true);
    for (const other of ["postgres://db:5433/v", "postgres://db:5432/w", `${shown}&schema=team_a`])
      expect(isSamePlace(shown, other)).toBe(false);
  });

  it("takes what it lacks from the environment", () => {
    const env = {
      PGHOST: "db",
      PGPORT: "7",
      PGUSER: "ada",
      PGDATABASE: "v",
      PGPASSWORD: "secret",
      PGSSLROOTCERT: "/ca.pem",
    };
    expect(
      parse("postgres://", { ...env, PGDATA: "/d", PGSERVICE: "x", PGOPTIONS: "-c y" }),
    ).toMatchObject({
      hosts: [{ host: "db", port: 7 }],
      user: "ada",
      database: "v",
      password: "secret",
      tls: { rootCertificate: "/ca.pem" },
    });
    expect(parse("postgres://eve:pw@other/w", env)).toMatchObject({
      user: "eve",
      password: "pw",
      database: "w",
    });
  });

  test.each([
    ["postgres://db/v", {}, true],
    ["postgres://db/v?sslmode=require", {}, true],
    ["postgres://127.0.0.1/v", {}, false],
    ["postgres://localhost/v?sslmode=verify-full", {}, true],
    ["postgres://localhost,db/v", {}, true],
    ["postgres://db/v?sslmode=disable", {}, false],
    ["postgres://db/v", { PGSSLMODE: "disable" }, false],
  ])("%s %j: TLS %s, verified in full", (location, env, hasTls) => {
    expect(parse(location, env).tls !== undefined).toBe(hasTls);
  });

  test.each([
    ["postgres://db/v?sslmode=prefer", /sslmode prefer would not check/],
    ["postgres://db/v?sslmode=no-verify", /sslmode no-verify/],
    ["postgres://db/v?schema=a;b", /only schema \(a-z/],
    ["postgres://db:0/v", /a port is not a number/],
    ["postgres://db/v?target_session_attrs=any", /behind its \? only schema .* are known/],
    ["postgres://db/v?sec=1", /behind its \? only schema .* are known/],
    ["postgres://db/v?durable=yes", /durable=assumed/],
    ["postgres://a:secret@b@c/v", /does not have the form/],
    ["postgres://ada:sec%ret@db/v", /%25/],
    ["postgres://ada:sec/ret@db/v", /%2F/],
    ["postgres://ada:1234/sec@db/v", /%2F/],
    ["postgres://ada:1?sec=ret@db/v", /%3F/],
    ["postgres://ada:1?schema=sec@db/v", /%3F/],
    ["postgres://db/v?sslrootcert=@sec", /%40/],
    ["postgres://ada:sec@db/v ", /does not have the form/],
    ['postgres://ada:sec@db/v"', /does not have the form/],
    ["postgres://ada:${sec}@db/v", /does not have the form/],
    ["postgres://ada:sec@$HOST/v", /does not have the form/],
  ])("%s is refused, without its password", (location, why) => {
    expect(() => parse(location)).toThrow(
      expect.objectContaining({ code: "usage", message: expect.stringMatching(why) as string }),
    );
    expect(() => parse(location)).not.toThrow(/sec/);
  });
});
