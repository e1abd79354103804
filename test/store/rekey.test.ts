import { actorOf } from "../../src/actor.ts";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SealedConfiguration, SealedSecret } from "../../src/store/keys/rekey.ts";
import type { LocalState } from "../../src/store/sqlite/store.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import { imported, pair, patient, service, uuid } from "../contract/store-fixture.ts";
import type { TemporaryState } from "./temporary-state.ts";
import { temporaryState } from "./temporary-state.ts";

let state: TemporaryState;
beforeEach(() => {
  state = temporaryState();
});
afterEach(() => state.dispose());

const open = (directory = state.directory): LocalState =>
  openStore({
    directory,
    keySource: { type: "file", path: state.keyFile },
    clock: state.clock,
    platform: "linux",
    by: actorOf(process.pid),
    warn: (message) => state.warnings.push(message),
  });

/** A configuration in memory. `meanwhile` runs when the rekey has locked it, before the key file changes. */
function configuration(
  secrets: SealedSecret[] = [],
  meanwhile = async (): Promise<unknown> => Promise.resolve(),
): SealedConfiguration {
  let held = false;
  let left = 1;
  return {
    exclusively: async (work) => {
      held = true;
      return await work();
    },
    secrets: async () => {
      if (held && left > 0) {
        left -= 1;
        await meanwhile();
      }
      return [...secrets];
    },
    replace: async (next) => {
      secrets.splice(0, secrets.length, ...next);
      return Promise.resolve();
    },
  };
}

const rekey = async (store: LocalState, config = configuration()) =>
  await store.rekey({
    keyFile: state.keyFile,
    to: { source: "file" },
    skipMissing: false,
    configuration: config,
    elsewhere: [],
    waiting: patient(state.clock, 1000),
  });

const keyId = (): string => readFileSync(state.keyFile, "utf8").split(" ")[1] ?? "";
const sealedWith = (): unknown[] =>
  state.sql("SELECT DISTINCT substr(sealed, 4, 16) AS id FROM credentials").map(({ id }) => id);

describe("a rekey", () => {
  it("does not disturb a process that had the old key: it goes on with the new one", async () => {
    const early = open();
    const session = await early.lock(service, uuid, patient(state.clock));
    await session.recordPair({ credentials: pair("first"), kind: "generic/offline" });
    await session.release();
    const { to } = await rekey(open());
    const again = await early.lock(service, uuid, patient(state.clock));
    expect(await again.credentials(1)).toEqual(pair("first"));
    await again.recordPair({ credentials: pair("second"), kind: "generic/offline" });
    expect(sealedWith()).toEqual([to]);
    expect(keyId()).toBe(to);
  });

  it("where everything was forgotten, such a process does not seal with the key that is gone", async () => {
    const early = open();
    const session = await early.lock(service, uuid, patient(state.clock));
    await session.recordPair({ credentials: pair("first"), kind: "generic/offline" });
    await session.forget();
    await session.release();
    await rekey(open());
    const again = await early.lock(service, uuid, patient(state.clock));
    await again.recordPair({ credentials: pair("second"), kind: "generic/offline" });
    expect(sealedWith()).toEqual([keyId()]);
  });

  it.each(["before the key file has the new key", "after it"])(
    "changes also a state that is begun while it runs, %s",
    async (when) => {
      await (await imported(state)).release();
      const late = open(join(state.root, "late"));
      const begin = async (): Promise<void> => {
        const session = await late.lock(service, uuid, patient(state.clock));
        await session.recordPair({ credentials: pair("late"), kind: "generic/offline" });
        await session.release();
      };
      const plain = configuration();
      const replace = async (...given: Parameters<typeof plain.replace>): Promise<void> => {
        await begin();
        await plain.replace(...given);
      };
      const { states, to } = await rekey(
        open(),
        when === "after it" ? { ...plain, replace } : configuration([], begin),
      );
      expect(states.sort()).toEqual([join(state.root, "late"), state.directory].sort());
      const session = await open(join(state.root, "late")).lock(
        service,
        uuid,
        patient(state.clock),
      );
      expect(await session.credentials(1)).toEqual(pair("late"));
      expect(keyId()).toBe(to);
    },
  );

  it("changes what the configuration holds, each value in its place", async () => {
    const place = { profile: "work", key: "apiKey" };
    const secrets = [{ place, sealed: await open().sealSecret(place, "secret", false) }];
    await rekey(open(), configuration(secrets));
    expect(secrets[0]?.sealed).toContain(`s1:${keyId()}:`);
    expect(await open().openSecret(place, secrets[0]?.sealed ?? "")).toBe("secret");
    await expect(
      open().openSecret({ ...place, profile: "home" }, secrets[0]?.sealed ?? ""),
    ).rejects.toMatchObject({ code: "state" });
  });

  it("that cannot read everything back keeps the old key", async () => {
    await (await imported(state)).release();
    const before = keyId();
    const broken: SealedConfiguration = {
      ...configuration(),
      replace: async () => Promise.reject(new Error("the disk is gone")),
    };
    await expect(rekey(open(), broken)).rejects.toThrow("the disk is gone");
    expect(readFileSync(state.keyFile, "utf8").split("\n")).toHaveLength(3);
    expect(keyId()).toBe(before);
    const session = await open().lock(service, uuid, patient(state.clock));
    expect(await session.credentials(1)).toEqual(pair("first"));
    await session.release();
    await rekey(open());
    expect(readFileSync(state.keyFile, "utf8").split("\n")).toHaveLength(2);
  });
});
