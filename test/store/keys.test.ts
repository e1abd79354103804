import { command } from "../../src/way.ts";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { storedVaults } from "../support/stored-vaults.ts";
import { beforeEach, describe, expect, it } from "vitest";
import type { Store, VaultSession } from "../../src/exchange/ports.ts";
import { givenKey, Keyring, parseGivenKey } from "../../src/secrets/keys.ts";
import { deriveKey, seal, unseal } from "../../src/secrets/sealing.ts";
import { held, imported, pair, patient, service, uuid } from "../contract/store-fixture.ts";
import { temporaryState, type TemporaryState } from "./temporary-state.ts";

const bytes = Buffer.alloc(32, 7);
const base64 = bytes.toString("base64");

describe("the key that seals", () => {
  let state: TemporaryState;
  beforeEach(() => {
    state = temporaryState();
  });

  const keyId = (): string => basename(state.keyFile, ".key");
  const given = (key: string) => ({ folder: state.keys, given: givenKey(key) });

  const take = async (store: Store): Promise<VaultSession> =>
    await store.lock(service, uuid, patient(state.clock));

  it("is made when a secret is first sealed, for its owner only", async () => {
    const session = await held(state);
    expect(existsSync(state.keys)).toBe(false);
    await session.recordPair({ credentials: pair("first"), kind: "generic/offline" });
    expect(readFileSync(state.keyFile, "utf8")).toMatch(/^[A-Za-z0-9+/]{43}=\n$/);
    expect(statSync(state.keyFile).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(state.keyFile)).mode & 0o777).toBe(0o700);
    const id = keyId();
    expect(state.sql("SELECT value FROM meta WHERE name = 'key'")).toEqual([{ value: id }]);
    expect(state.sql("SELECT sealed FROM vaults")[0]?.["sealed"]).toMatch(
      new RegExp(`"1":"s1:${id}:`),
    );
    expect(state.warnings).toEqual([]);
  });

  it("is not needed to look", async () => {
    await (await imported(state)).release();
    rmSync(state.keyFile);
    expect((await state.another().list()).length).toBe(1);
  });

  it("is never made where secrets are sealed: a missing file is an error that names the key, before anything is written", async () => {
    await (await imported(state)).release();
    const id = keyId();
    rmSync(state.keyFile);
    const before = storedVaults(join(state.directory, "vault.db"));
    await expect(take(state.another())).rejects.toMatchObject({
      code: "state",
      message: expect.stringContaining(id) as string,
    });
    expect(existsSync(state.keyFile)).toBe(false);
    expect(storedVaults(join(state.directory, "vault.db"))).toEqual(before);
  });

  it("is never made where secrets are sealed and a damaged state names none: theirs is named again", async () => {
    await (await imported(state)).release();
    const id = keyId();
    state.sql("DELETE FROM meta WHERE name = 'key'");
    const session = await take(state.another());
    expect(await session.credentials(1)).toEqual(pair("first"));
    await session.setLabel("again");
    expect(state.sql("SELECT value FROM meta WHERE name = 'key'")).toEqual([{ value: id }]);
    expect(readdirSync(state.keys)).toEqual([`${id}.key`]);
  });

  it("is not made by a process that began before others sealed, where the file has gone since", async () => {
    const early = await state
      .another()
      .lock(service, uuid.replace(/1$/, "2"), patient(state.clock));
    await imported(state);
    rmSync(state.keyFile);
    await expect(
      early.recordPair({ credentials: pair("first"), kind: "generic/offline" }),
    ).rejects.toMatchObject({ code: "state" });
    expect(existsSync(state.keyFile)).toBe(false);
  });

  it("is that of another process, where that has made it since the vault was taken", async () => {
    const other = uuid.replace(/1$/, "2");
    const early = await state.another().lock(service, other, patient(state.clock));
    await (await imported(state)).release();
    expect(await early.read()).toBeNull();
    const generation = await early.recordPair({
      credentials: pair("first"),
      kind: "generic/offline",
    });
    expect(await early.credentials(generation)).toEqual(pair("first"));
  });

  it("a key that does not fit is refused when the vault is taken, naming both", async () => {
    await (await imported(state)).release();
    const id = keyId();
    const refusal = {
      code: "state",
      exitCode: 14,
      message: expect.stringMatching(new RegExp(`${id}.*${deriveKey(bytes).id}`)) as string,
    };
    await expect(take(state.withKey(given(base64)))).rejects.toMatchObject(refusal);
  });

  it("a key that does not fit is refused, too, where its file has opened a secret of the configuration", async () => {
    await (await imported(state)).release();
    const keyring = new Keyring(given(base64), state.directory, state.options.warn);
    expect(await keyring.find(keyId())).toMatchObject({ id: keyId() });
    await expect(keyring.key(keyId())).rejects.toMatchObject({
      code: "state",
      message: expect.stringContaining("wrong key") as string,
    });
  });

  it("a process that began with another key notices before it seals", async () => {
    const early = await state.withKey(given(base64)).lock(service, uuid, patient(state.clock));
    const other = await held(state, uuid.replace(/1$/, "2"));
    await other.recordPair({ credentials: pair("first"), kind: "generic/offline" });
    await expect(
      early.recordPair({ credentials: pair("first"), kind: "generic/offline" }),
    ).rejects.toMatchObject({ code: "state" });
    await expect(early.read()).rejects.toMatchObject({ code: "state" });
    expect(state.sql("SELECT uuid FROM vaults")).toEqual([{ uuid: other.uuid }]);
  });

  it.each([base64, ` ${base64}\n`, bytes.toString("hex"), bytes.toString("hex").toUpperCase()])(
    "can be given: %j",
    async (key) => {
      const session = await take(state.withKey(given(key)));
      await session.recordPair({ credentials: pair("first"), kind: "generic/offline" });
      await session.release();
      const again = await take(state.withKey(given(base64)));
      expect(await again.credentials(1)).toEqual(pair("first"));
      expect(existsSync(state.keyFile)).toBe(false);
    },
  );

  it.each([
    "",
    "secret",
    base64.slice(0, -2),
    bytes.toString("hex").slice(1),
    `${base64}${base64}`,
  ])("is refused if it is %j, and not shown", (key) => {
    expect(() => parseGivenKey(key, "--state-key")).toThrow(
      expect.objectContaining({
        code: "invalid-input",
        message: expect.stringMatching(/^--state-key: must be 32 bytes/) as string,
        facts: { next: [{ ...command`openssl rand -base64 32`, note: "makes a new one" }] },
      }),
    );
  });

  it.each(["", "garbage\n", "AAAA\n", `${Buffer.alloc(32, 8).toString("base64")}\n`])(
    "a key file that holds %j is refused and left as it is",
    async (text) => {
      await (await imported(state)).release();
      writeFileSync(state.keyFile, text, { mode: 0o600 });
      await expect(take(state.another())).rejects.toMatchObject({
        code: "state",
        message: expect.stringContaining(state.keyFile) as string,
      });
      expect(readFileSync(state.keyFile, "utf8")).toBe(text);
    },
  );

  it("a key file that others can read draws one warning", async () => {
    await (await imported(state)).release();
    chmodSync(state.keyFile, 0o640);
    const session = await take(state.another());
    await session.credentials(1);
    expect(state.warnings).toEqual([
      `other users can read the key file ${state.keyFile}; to fix it: chmod 600 ${state.keyFile}`,
    ]);
  });
});

describe("sealed values", () => {
  const key = deriveKey(bytes);
  const place = { service, uuid, column: "credentials.sealed", row: "1" } as const;

  it("open in their place only, with their key only, unchanged only", () => {
    const sealed = seal(key, place, "secret");
    expect(unseal(key, place, sealed)).toBe("secret");
    expect(seal(key, place, "secret")).not.toBe(sealed);
    for (const moved of [
      { ...place, service: "https://other.example" },
      { ...place, uuid: uuid.replace(/1$/, "2") },
      { ...place, column: "exchanges.token" as const },
      { ...place, row: "2" },
    ]) {
      expect(() => unseal(key, moved, sealed)).toThrow(/copied from another place/);
    }
    expect(() => unseal(deriveKey(Buffer.alloc(32, 8)), place, sealed)).toThrow(
      new RegExp(`encrypted with key ${key.id}`),
    );
    const [format = "", id = "", body = ""] = sealed.split(":");
    for (let n = 0; n < body.length - 1; n += 1) {
      const other = body[n] === "A" ? "B" : "A";
      expect(() =>
        unseal(key, place, `${format}:${id}:${body.slice(0, n)}${other}${body.slice(n + 1)}`),
      ).toThrow(/cannot be decrypted/);
    }
    expect(() => unseal(key, place, `${format}:${id}:`)).toThrow(/truncated or garbled/);
    expect(() => unseal(key, place, `s2:${id}:${body}`)).toThrow(/format/);
  });
});
