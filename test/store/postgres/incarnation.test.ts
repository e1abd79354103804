import { describe, expect, it, test } from "vitest";
import type { Incarnation } from "../../../src/store/postgres/about.ts";
import { parseAddress } from "../../../src/store/postgres/address.ts";
import { checkIncarnation, warnOfWeakerTls } from "../../../src/store/postgres/incarnation.ts";
import type { SeenState } from "../../../src/store/postgres/machine-record.ts";

const hour = 3_600_000;
const now = Date.parse("2026-11-23T12:00:00Z");

/** The state as the machine has seen it: an hour ago at the address `db`, whose server was started a day before. */
const seen: SeenState = {
  state: "s",
  address: "postgres://me@db:5432/v",
  claims: 0,
  timeline: "00000001",
  position: 1000,
  started: now - 24 * hour,
  now: now - hour,
  server: "10.0.0.5 5432",
  tls: true,
};

const same: Incarnation = {
  state: "s",
  keyId: "k",
  original: true,
  claims: 0,
  timeline: "00000001",
  noted: "00000001",
  position: 1000,
  started: seen.started,
  server: "10.0.0.5 5432",
  now,
};

/** What becomes of it at an address, with a machine that has seen what `before` says; `asked` are the statements. */
async function check(
  location: string,
  found: Partial<Incarnation>,
  before: Partial<SeenState> | null = {},
) {
  const warnings: string[] = [];
  const noted: SeenState[] = [];
  const record = before === null ? null : { ...seen, ...before };
  const machine = {
    state: () => record,
    states: () => (record === null ? [] : [record]),
    noteState: (state: SeenState) => void noted.push(state),
  };
  const address = parseAddress(location, {}, "me", () => undefined);
  const watch = {
    address,
    machine,
    schema: "vaultsvc",
    warn: (message: string) => void warnings.push(message),
  };
  const nothing = async (): Promise<never[]> => await Promise.resolve([]);
  const database = { address, transact: nothing, query: nothing };
  warnOfWeakerTls(watch);
  const failure = await checkIncarnation({ ...watch, database }, { ...same, ...found }).then(
    () => undefined,
    (error: unknown) => (error as Error).message,
  );
  return { failure, warnings, noted };
}

const restarted = { started: now - hour / 2 };

describe("a copy is told from its original by what the server says and the machine has noted", () => {
  test.each([
    ["the same server by another address", "postgres://other/v", {}],
    ["the same server through a tunnel", "postgres://other/v", { server: "127.0.0.1 5432" }],
    [
      "restarted at the same address, on another host",
      "postgres://db/v",
      { ...restarted, server: "10.0.0.6 5432" },
    ],
    ["restarted, by another address", "postgres://other/v", restarted],
    [
      "restarted at the same address, under another role, on another host",
      "postgres://you@db/v",
      { ...restarted, server: "10.0.0.6 5432" },
    ],
    [
      "after a failover to what is at another address",
      "postgres://other/v",
      { timeline: "00000002", started: now - 9 * hour },
    ],
    ["claimed since", "postgres://other/v", { claims: 1, started: now - 9 * hour }],
  ])("%s is none", async (_, location, found) => {
    expect((await check(location, found)).failure).toBeUndefined();
  });

  test.each([
    [
      "it ran while the original was in use",
      { started: now - 9 * hour },
      /its original was in use at postgres:\/\/me@db:5432\/v while this/,
    ],
    [
      "it ran while the original was in use, behind a tunnel",
      { started: now - 9 * hour, server: " 5432" },
      /was in use at/,
    ],
    [
      "it was started since on another host",
      { ...restarted, server: "10.0.0.6 5432" },
      /its original was at postgres:\/\/me@db:5432\/v/,
    ],
    [
      "it was started since at another port",
      { ...restarted, server: "127.0.0.1 5433" },
      /its original was at/,
    ],
  ])("at another address it is one, if %s", async (_, found, why) => {
    expect((await check("postgres://other/v", found)).failure).toMatch(why);
  });

  it("warns, once, where nobody can tell: restarted and reached through a tunnel", async () => {
    const { failure, warnings, noted } = await check("postgres://other/v", {
      ...restarted,
      server: "127.0.0.1 5432",
    });
    expect(failure).toBeUndefined();
    expect(warnings).toEqual([
      expect.stringMatching(
        /was at .*db.* before, and its server was restarted since: if that one still runs/,
      ),
    ]);
    expect(
      (await check("postgres://other/v", { ...restarted, server: "127.0.0.1 5432" }, noted[0]))
        .warnings,
    ).toEqual([]);
  });
});

describe("a connection without TLS, where the state was used with it", () => {
  const withoutTls = (host: string): string => `postgres://${host}/v?sslmode=disable`;
  test.each([
    ["at the same address", withoutTls("db"), /has no TLS; .* \(this address\)/],
    ["at another one", withoutTls("other"), /has no TLS; .* \(postgres:\/\/me@db:5432\/v\)/],
    ["on this machine", "postgres://127.0.0.1/v", /has no TLS/],
  ])("%s draws one warning, and none the next time", async (_, location, message) => {
    const { warnings, noted } = await check(location, {});
    expect(warnings).toEqual([expect.stringMatching(message)]);
    expect((await check(location, {}, noted[0])).warnings).toEqual([]);
  });

  it("draws none where it never had TLS, or has it still", async () => {
    expect((await check(withoutTls("db"), {}, { tls: false })).warnings).toEqual([]);
    expect((await check("postgres://db/v", {})).warnings).toEqual([]);
  });
});

it("what was found is noted", async () => {
  const found = { position: 2000, started: now - 1000, now };
  expect((await check("postgres://db/v", found)).noted).toMatchObject([found]);
});
