import { describe, expect, test } from "vitest";
import { readCreateSuccess, readInfo } from "../../src/protocol/answers.ts";
import { pair, uuid } from "../support/examples.ts";

const responseStatus = { status: "SUCCESS" };
const answer = (body: Record<string, unknown>, httpStatus = 200) => ({
  httpStatus,
  body: { responseStatus, ...body },
});
const application = "99999999-2222-4333-8444-555555555555";

describe("a create is read leniently: uuid and pair are found", () => {
  test.each<[string, Record<string, unknown>]>([
    ["under vault", { vault: { uuid, credentials: pair } }],
    ["at the top level", { uuid, credentials: pair }],
    ["the pair beside the uuid", { vault: { uuid, ...pair } }],
    ["at the top level, the pair too", { uuid, ...pair }],
    ["the uuid by another name", { vaultUuid: uuid, vault: { credentials: pair } }],
    ["in an object of another name", { newVault: { id: uuid, credentials: pair } }],
    ["in an object of an object", { result: { vault: { uuid, credentials: pair } } }],
    [
      "the uuid of the vault before one that is in it",
      { vaultUuid: uuid, vault: { owner: { id: application }, credentials: pair } },
    ],
    [
      "with metadata that name another one",
      { metadata: { id: application }, result: { credentials: pair, vaultId: uuid } },
    ],
    [
      "with another object in front",
      { result: { request: { id: application }, vault: { uuid, credentials: pair } } },
    ],
    [
      "with an object in another one in front",
      { meta: { request: { id: application } }, result: { vault: { uuid, credentials: pair } } },
    ],
    ["in an object by numbers", { vaults: { 0: { uuid, credentials: pair } } }],
    ["behind names with dots", { "com.example.v2.vault.answer": { vault: { uuid, ...pair } } }],
    ["with the number of a request", { id: application, vault: { uuid, credentials: pair } }],
    [
      "with an application beside them",
      { application: { uuid: application }, vault: { uuid, credentials: pair } },
    ],
    [
      "with an application in front",
      { applicationUuid: application, result: { uuid, credentials: pair } },
    ],
  ])("%s", (_, body) => expect(readCreateSuccess(answer(body))).toMatchObject({ uuid, pair }));

  test("dates and reads left are taken where they can be read, and the service's own object is kept", () => {
    const vault = {
      uuid,
      credentials: pair,
      usesRemaining: 3,
      autoLockDate: "2027-01-01T00:00:00Z",
      dateCreated: 12,
      more: true,
    };
    expect(readCreateSuccess(answer({ vault }))).toEqual({
      vault,
      uuid,
      pair,
      usesRemaining: 3,
      autoLockDate: "2027-01-01T00:00:00Z",
      expiryDate: null,
      dateCreated: null,
      lastModified: null,
    });
  });

  test.each<[string, Record<string, unknown>]>([
    ["an error", { responseStatus: { status: "ERROR" }, vault: { uuid, credentials: pair } }],
    ["no status", { responseStatus: undefined, vault: { uuid, credentials: pair } }],
    ["no uuid", { vault: { credentials: pair } }],
    [
      "no uuid but the application's",
      { application: { uuid: application }, vault: { credentials: pair } },
    ],
    ["a uuid of 35 characters", { vault: { uuid: uuid.slice(1), credentials: pair } }],
    ["half a pair", { vault: { uuid, credentials: { encryptedData: "ENC" } } }],
    ["an empty half", { vault: { uuid, credentials: { ...pair, payload: "" } } }],
    ["halves that are apart", { vault: { uuid, encryptedData: "ENC" }, payload: "PAY" }],
    ["nothing", {}],
  ])("is not one: %s", (_, body) => expect(readCreateSuccess(answer(body))).toBeUndefined());
});

describe("an info", () => {
  const dates = {
    autoLockDate: "2027-01-01T00:00:00Z",
    dateCreated: "2026-01-01T00:00:00Z",
    lastModified: "2026-02-01T00:00:00Z",
  };

  test("has its fields at the top level, each optional, and the service's own are kept", () => {
    const info = {
      ...dates,
      metadata: { team: "ops" },
      usesRemaining: 2,
      expiryDate: "2028-01-01T00:00:00Z",
      more: [1],
    };
    expect(readInfo(answer(info))).toEqual({
      info,
      ...dates,
      metadata: { team: "ops" },
      usesRemaining: 2,
      expiryDate: info.expiryDate,
    });
    expect(readInfo(answer({}))).toMatchObject({
      info: {},
      metadata: {},
      autoLockDate: null,
      usesRemaining: null,
    });
  });

  test("may have them under vault", () =>
    expect(readInfo(answer({ vault: dates }))).toMatchObject(dates));

  test("nothing unreadable is taken for a date", () =>
    expect(readInfo(answer({ autoLockDate: "next year", metadata: { team: 5 } }))).toMatchObject({
      autoLockDate: null,
      metadata: {},
      info: { autoLockDate: "next year" },
    }));

  test("is none without SUCCESS", () =>
    expect(readInfo({ httpStatus: 200, body: dates })).toBeUndefined());
});
