import { editVaults, storedVaults } from "../support/stored-vaults.ts";
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { CreatedVault } from "../../src/exchange/records.ts";
import { givenKey, parseGivenKey, type KeySource } from "../../src/secrets/keys.ts";
import { SqliteState } from "../../src/store/sqlite/store.ts";
import type { State } from "../../src/store/whole/stored-whole.ts";
import { imported, pair, patient, service, uuid } from "../contract/store-fixture.ts";
import { temporaryState, type TemporaryState } from "./temporary-state.ts";

let state: TemporaryState;
beforeEach(() => {
  state = temporaryState();
});

const at = (directory: string, keySource: KeySource): State =>
  new SqliteState({ ...state.options, directory, keySource });
const open = (keySource: KeySource = { folder: state.keys }): State =>
  at(state.directory, keySource);

const rekey = async (store: State, key?: string) =>
  await (
    await store.whole()
  ).rekey(
    key === undefined ? undefined : parseGivenKey(key, "--new-state-key"),
    patient(state.clock, 1000),
  );

/** Imports a pair, or reads the one that was imported. */
async function use(store: State, name?: string): Promise<unknown> {
  const session = await store.lock(service, uuid, patient(state.clock));
  try {
    if (name !== undefined)
      await session.recordPair({ credentials: pair(name), kind: "generic/offline" });
    return await session.credentials((await session.read())?.generations[0]?.generation ?? 1);
  } finally {
    await session.release();
  }
}

const sealedWith = (): unknown[] =>
  state
    .sql("SELECT DISTINCT substr(sealed, instr(sealed, 's1:') + 3, 16) AS id FROM vaults")
    .map(({ id }) => id);
const files = (folder = state.keys): string[] => readdirSync(folder).sort();

describe("a rekey", () => {
  it("seals everything with a new key, names it, says so in the journal, and erases no key", async () => {
    await (await imported(state)).release();
    const [former = ""] = files();
    const rekeyed = await rekey(open());
    const from = basename(former, ".key");
    expect(rekeyed).toMatchObject({ from, values: 1 });
    expect(files()).toEqual([former, `${rekeyed.to}.key`].sort());
    expect(sealedWith()).toEqual([rekeyed.to]);
    expect(state.sql("SELECT value FROM meta WHERE name = 'key'")).toEqual([{ value: rekeyed.to }]);
    expect(state.sql("SELECT detail FROM journal WHERE event = 'rekeyed'")).toEqual([
      { detail: JSON.stringify({ from, to: rekeyed.to, values: 1 }) },
    ]);
    for (const name of ["vault.db", "vault.db-wal"]) {
      const path = join(state.directory, name);
      const bytes = existsSync(path) ? readFileSync(path, "latin1") : "";
      expect(bytes.includes(`s1:${from}:`), `${name} holds values of the old key`).toBe(false);
    }
    expect(await use(open())).toEqual(pair("first"));
  });

  it("does not disturb a process that finds the file of the new key", async () => {
    const early = open();
    await use(early, "first");
    const { to } = await rekey(open());
    expect(await use(early, "second")).toEqual(pair("second"));
    expect(sealedWith()).toEqual([to]);
  });

  it.each(["with the vault", "without a lock"])(
    "a process that has the old key alone writes nothing after it: %s",
    async (how) => {
      const old = Buffer.alloc(32, 7).toString("base64");
      const early = open({ folder: state.keys, given: givenKey(old) });
      await use(early, "first");
      await rekey(open({ folder: state.keys, given: givenKey(old) }), "9".repeat(64));
      const creation = { id: "c", service, kind: "generic/offline", externalRef: "r" } as const;
      const made: CreatedVault = {
        uuid: uuid.replace(/1$/, "2"),
        credentials: pair("made"),
        usesRemaining: null,
        limited: false,
        expiryDate: null,
        autoLockDate: null,
        dateCreated: null,
        lastModified: null,
      };
      const writing =
        how === "with the vault" ? use(early, "second") : early.completeCreation(creation, made);
      await expect(writing).rejects.toMatchObject({
        exitCode: 14,
        message: expect.stringMatching(/^wrong key: .*--state-key has key/) as string,
      });
      expect(storedVaults(state.path)[0]?.credentials).toHaveLength(1);
    },
  );

  it("that cannot open everything changes nothing", async () => {
    await (await imported(state)).release();
    editVaults(state.path, ({ sealed: { "credentials.sealed": pairs } }) => {
      for (const [generation, value] of Object.entries(pairs))
        pairs[generation] = `${value.slice(0, -8)}AAAAAAA=`;
    });
    const before = storedVaults(state.path);
    await expect(rekey(open())).rejects.toMatchObject({ code: "state" });
    expect(storedVaults(state.path)).toEqual(before);
    expect(state.sql("SELECT value FROM meta WHERE name = 'key'")).toEqual([
      { value: sealedWith()[0] },
    ]);
  });
});

// Each of these two states was lost when a rekey of the one erased "the old key".
describe("another state still opens after a rekey", () => {
  /** Another state, and how it is opened afterwards. */
  type Arrange = (other: string) => Promise<() => State>;
  const here = { folder: "" };
  const cases: [string, Arrange][] = [
    [
      "on a disk that is not mounted meanwhile",
      async (other) => {
        await use(at(other, { folder: state.keys }), "other");
        renameSync(other, `${other}-away`);
        return () => {
          renameSync(`${other}-away`, other);
          return at(other, { folder: state.keys });
        };
      },
    ],
    [
      "in another container that has the same volume of keys",
      async (other) => {
        const volume = join(state.root, "volume");
        await use(at(other, { folder: state.keys }), "other");
        symlinkSync(state.keys, volume);
        return () => at(other, { folder: volume });
      },
    ],
    [
      "in another home, which has a copy of the keys",
      async (other) => {
        await use(at(other, { folder: state.keys }), "other");
        const copied = join(state.root, "home");
        cpSync(state.keys, copied, { recursive: true });
        return () => at(other, { folder: copied });
      },
    ],
    [
      "that was begun with the same configuration",
      async (other) => {
        await use(at(other, { folder: state.keys }), "other");
        return () => at(other, { folder: state.keys });
      },
    ],
    [
      "whose folder was moved aside",
      async (other) => {
        await use(at(other, { folder: state.keys }), "other");
        renameSync(other, `${other}-aside`);
        return () => at(`${other}-aside`, { folder: state.keys });
      },
    ],
    [
      "whose keys are reached through a link",
      async (other) => {
        const link = join(state.root, "link");
        symlinkSync(state.keys, link);
        await use(at(other, { folder: link }), "other");
        return () => at(other, { folder: link });
      },
    ],
    [
      "that was given the key in the file of this one",
      async (other) => {
        const key = readFileSync(state.keyFile, "utf8");
        await use(at(other, { ...here, given: givenKey(key) }), "other");
        return () => at(other, { folder: state.keys });
      },
    ],
  ];

  it.each(cases)("%s", async (_, arrange) => {
    await use(open(), "first");
    const reopened = await arrange(join(state.root, "other"));
    const { to } = await rekey(open());
    expect(await use(reopened())).toEqual(pair("other"));
    expect(await use(open())).toEqual(pair("first"));
    expect(sealedWith()).toEqual([to]);
  });
});
