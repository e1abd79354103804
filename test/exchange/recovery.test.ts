import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { device } from "../support/examples.ts";
import { parseCredentials, type GivenCredentials } from "../../src/exchange/credentials.ts";

/** Documents of every form that was ever written. Never change or remove one: users have them on disk. */
const folder = join(import.meta.dirname, "..", "fixtures", "version-1", "documents");
const text = (name: string): string => readFileSync(join(folder, name), "utf8");

const uuid = "123e4567-e89b-42d3-a456-426614174000";
const old = { encryptedData: "ZW5j", payload: "cGF5" };
const pin = { hashedPin: "c2VjcmV0LXBpbg==" };
const exchange = {
  id: "01KDGQ1R8Z4T6WQ0S3VHX9BNMA",
  operation: "get",
  externalRef: null,
  startedAt: null,
  tokenExpiry: "2026-11-21T12:05:00.000Z",
  generation: null,
};
const document = {
  format: 2,
  uuid,
  label: null,
  kind: "generic/offline",
  exchange,
  status: "pending",
  old,
  new: { encryptedData: "bmV3", payload: "cGF6" },
  token: "dG9rZW4=",
};
const whole = {
  ...document,
  label: "spare card",
  exchange: {
    ...exchange,
    externalRef: "order-1",
    startedAt: "2026-11-21T12:00:00.000Z",
    generation: 7,
  },
  unread: true,
};

const recovery = (document: { label: string | null; [name: string]: unknown }): unknown => ({
  type: "recovery",
  uuid,
  label: document.label,
  document,
});

const forms: Record<string, unknown> = {
  "exported.json": {
    type: "pair",
    uuid,
    label: "spare card",
    kind: "credit-card/online",
    credentials: old,
    device,
  },
  "exported-open-exchange.json": recovery(whole),
  "recovery-with-label.json": recovery(whole),
  "credentials-with-label.json": {
    type: "pair",
    uuid,
    label: null,
    kind: "credit-card/online",
    credentials: old,
    device,
  },
  "pair.json": { type: "pair", credentials: old },
  "pair-with-pin.json": { type: "pair", credentials: { ...old, ...pin } },
  "recovery-of-an-update.json": recovery({
    ...whole,
    label: null,
    kind: "credit-card/offline",
    exchange: { ...whole.exchange, operation: "update" },
    unread: undefined,
  }),
  "recovery-of-an-online-vault.json": recovery({
    ...whole,
    label: null,
    kind: "credit-card/online",
    old: { ...old, ...pin },
    new: { ...document.new, ...pin },
    device,
    unread: undefined,
  }),
  "recovery.json": recovery({ ...document, unread: true }),
  "credentials.json": {
    type: "pair",
    uuid,
    kind: "credit-card/online",
    credentials: { ...old, ...pin },
  },
  "of-a-container.json": {
    type: "pair",
    uuid: "8b7783d2-9ee2-4d50-b993-343f23e83729",
    label: null,
    kind: "generic/offline",
    credentials: {
      encryptedData:
        "/07AGl82nspQqrRhPx6Fo2pTu+udb98mDBbhTvsFWeMM7bL/O+jwBR7B/Zr2xEHp7g5nw6zEuIHvpsvT2vTPMRr/tbcK11bB07WrX1OE09HEqsDBfuOp6dTyDFOgS5mO",
      payload: "QDHoXUxo0B0UI4KiTJP65j05IAvpUQTpnCKwgmgxi/4jwQmDiBzYX9SzepYZ8tnC",
    },
  },
  "credentials-with-attempts.json": {
    type: "pair",
    uuid,
    kind: "generic/offline",
    credentials: old,
  },
};

describe("a document that --credentials takes", () => {
  it.each(readdirSync(folder))("is read in the form of %s", (name) => {
    expect(parseCredentials(text(name), "--credentials")).toEqual(forms[name]);
  });

  const rewritten = (given: GivenCredentials): unknown => {
    if (given.type === "recovery") return given.document;
    const { uuid: named = "", label = null, kind = "generic/offline", type: _, ...rest } = given;
    return { format: 2, uuid: named, label, kind, ...rest };
  };

  it.each(["recovery-with-label.json", "credentials-with-label.json"])(
    "is written as %s has it",
    (name) => {
      expect(rewritten(parseCredentials(text(name), "--credentials"))).toEqual(
        JSON.parse(text(name)),
      );
    },
  );

  it.each([
    "recovery-of-an-online-vault.json",
    "recovery.json",
    "credentials-with-attempts.json",
    "of-a-container.json",
  ])("loses nothing when %s is written again", (name) => {
    const given = parseCredentials(text(name), "--credentials");
    expect(parseCredentials(JSON.stringify(rewritten(given)), "--credentials")).toMatchObject(
      given,
    );
  });

  it.each(["credentials.json", "recovery.json"])(
    "ignores counters in %s, whatever they are",
    (name) => {
      const whole = JSON.parse(text(name)) as object;
      const given = parseCredentials(JSON.stringify({ ...whole, attempts: "2" }), "--credentials");
      expect(given).toEqual(forms[name]);
    },
  );

  it.each(["my secret-1", ""])(
    "with text %j is refused, with an example and without the text",
    (given) => {
      expect(() => parseCredentials(given, "--credentials")).toThrow(
        expect.objectContaining({
          code: "invalid-input",
          message: "--credentials: not valid JSON",
          facts: expect.objectContaining({
            hint: 'a valid value: {"encryptedData":"…","payload":"…"}',
          }) as object,
        }) as Error,
      );
    },
  );

  const expiring = (tokenExpiry: unknown): string => {
    const written = JSON.parse(text("recovery-of-an-update.json")) as { exchange: object };
    return JSON.stringify({ ...written, exchange: { ...written.exchange, tokenExpiry } });
  };

  it.each(["soon", "2026-13-40T00:00:00Z", 7, undefined])(
    "with the token expiry %j has an unknown one",
    (tokenExpiry) => {
      expect(parseCredentials(expiring(tokenExpiry), "--credentials")).toMatchObject({
        document: { exchange: { tokenExpiry: null } },
      });
    },
  );

  it("of local time without an offset is one of UTC", () => {
    const given = parseCredentials(expiring("2026-11-21T12:05"), "--credentials");
    expect(given).toMatchObject({
      document: { exchange: { tokenExpiry: "2026-11-21T12:05:00.000Z" } },
    });
  });

  it.each<[string, object, RegExp]>([
    [
      "credentials.json",
      { format: 3 },
      /^--credentials\.format: this version reads documents up to format 2$/,
    ],
    [
      "recovery.json",
      { format: 3 },
      /^--credentials\.format: this version reads documents up to format 2$/,
    ],
    [
      "credentials.json",
      { format: "2" },
      /^--credentials\.format: this version reads documents up to format 2$/,
    ],
    ["credentials.json", { uuid: "secret-1" }, /^--credentials\.uuid: must be 36 characters/],
    ["credentials.json", { kind: "secret-1" }, /^--credentials\.kind: must be one of/],
    [
      "credentials.json",
      { credentials: { ...old, payload: "" } },
      /^--credentials\.credentials\.payload: must be a string that is not/,
    ],
    ["recovery.json", { status: "secret-1" }, /^--credentials\.status: must be "pending"$/],
    ["recovery.json", { exchange: "secret-1" }, /^--credentials\.exchange: must be an object/],
    [
      "recovery.json",
      { exchange: { id: "x", operation: "secret-1" } },
      /^--credentials\.exchange\.operation: must be get or update$/,
    ],
    ["recovery.json", { token: undefined }, /^--credentials\.token: is missing/],
    ["recovery.json", { unread: "secret-1" }, /^--credentials\.unread: must be true/],
    ["pair.json", { payload: undefined }, /^--credentials\.payload: is missing/],
  ])("%s with %j is refused, which names the field and shows no value", (name, change, message) => {
    const parse = (): unknown =>
      parseCredentials(
        JSON.stringify({ ...(JSON.parse(text(name)) as object), ...change }),
        "--credentials",
      );
    expect(parse).toThrow(
      expect.objectContaining({
        code: "invalid-input",
        message: expect.stringMatching(message) as string,
      }),
    );
    expect(parse).not.toThrow(/secret-1/);
  });
});
