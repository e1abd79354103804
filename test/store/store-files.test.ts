import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { migrations } from "../../src/store/sqlite/database.ts";
import type { State } from "../../src/store/whole/stored-whole.ts";
import {
  exchange,
  held,
  imported,
  intent,
  known,
  lower,
  pair,
  patient,
  problem,
  service,
  startExchange,
  uuid,
} from "../contract/store-fixture.ts";
import { kill, lockPath, startChild, temporaryState } from "./temporary-state.ts";
import type { TemporaryState } from "./temporary-state.ts";

let state: TemporaryState;
beforeEach(() => {
  state = temporaryState();
});

const filesOf = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

describe("the files of a state", () => {
  it("are not made by looking", async () => {
    expect(await state.store.list()).toEqual([]);
    expect(await state.store.find(uuid)).toEqual([]);
    expect(await state.store.reserveSlot("app", 0)).toBe(0);
    expect(readdirSync(state.root)).toEqual([]);
  });

  it("are made once by calls of one process that begin a moment after each other", async () => {
    for (let turns = 0; turns < 12; turns += 1) {
      const fresh = temporaryState();
      const first = fresh.store.lock(service, uuid, patient(fresh.clock));
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      const second = fresh.store.lock(service, lower.replace("a", "b"), patient(fresh.clock));
      const sessions = await Promise.all([first, second]);
      for (const session of sessions) await session.release();
      expect(filesOf(fresh.directory).filter((path) => path.endsWith(".db"))).toHaveLength(1);
    }
  });

  it("are for their owner only, from the start", async () => {
    await imported(state);
    expect(statSync(state.directory).mode & 0o777).toBe(0o700);
    expect(statSync(join(state.directory, "locks")).mode & 0o777).toBe(0o700);
    const files = filesOf(state.directory);
    expect(files.length).toBe(7);
    for (const file of files) expect([file, statSync(file).mode & 0o777]).toEqual([file, 0o600]);
  });

  it("hold no secret, as such, escaped, in base64 or in hexadecimal digits", async () => {
    const session = await imported(state);
    await session.recordPair({
      credentials: { ...pair("first"), hashedPin: "aGFzaGVkLXBpbg==" },
      kind: "credit-card/online",
    });
    await exchange(session, "x1", 1, "second");
    await startExchange(session, "x2", 2, "third");
    await session.hold("x2", "delivery", { delivered: false, saveOwed: true });
    const secrets = [
      "data-of-",
      "payload-of-",
      "token-of-",
      "aGFzaGVkLXBpbg==",
      readFileSync(state.keyFile, "utf8"),
    ];
    const files = filesOf(state.directory).map((file) => readFileSync(file));
    expect(Buffer.concat(files).includes("ref-x2")).toBe(true);
    for (const secret of secrets.map((text) => text.trim())) {
      for (const form of [
        secret,
        Buffer.from(secret).toString("base64").slice(0, -4),
        Buffer.from(secret).toString("hex"),
      ]) {
        for (const file of files) expect(file.includes(form)).toBe(false);
      }
    }
  });

  it("lock files stay, one for each vault that was used, and nothing else but who has it", async () => {
    const locks = join(state.directory, "locks");
    const left = ["gate.lock", "whole.lock", basename(lockPath(locks, uuid))].sort();
    const session = await imported(state);
    expect(readdirSync(locks).filter((name) => !left.includes(name))).toEqual([
      expect.stringMatching(/^\w{32}\.json$/),
    ]);
    await session.release();
    expect(readdirSync(locks).sort()).toEqual(left);
    await kill(await startChild("hold", state));
    expect(await state.store.locks()).toEqual([]);
    await (await held(state)).release();
    expect(readdirSync(locks).sort()).toEqual(left);
  });

  it("what was committed is there although nothing was closed", async () => {
    const session = await imported(state);
    await session.recordIntent(intent("x1", 1));
    expect(statSync(`${state.path}-wal`).size).toBeGreaterThan(0);
    expect((await state.another().find(uuid))[0]?.unackedStarts).toBe(1);
  });

  it("a busy database is waited for without blocking, and told after half a minute", async () => {
    const session = await imported(state);
    const rival = new DatabaseSync(state.path);
    rival.exec("BEGIN IMMEDIATE");
    await expect(session.recordIntent(intent("x1", 1))).rejects.toMatchObject({
      code: "state",
      message: expect.stringContaining("other programs have locked it for 30 seconds") as string,
    });
    expect(state.clock.slept.length).toBeGreaterThan(100);
    state.clock.slept = [];
    state.clock.meanwhile = () => {
      if (state.clock.slept.length === 3) rival.exec("ROLLBACK");
    };
    await session.recordIntent(intent("x1", 1));
    expect(state.clock.slept.length).toBe(3);
    await session.noteOutcome("x1", "free", problem);
    rival.close();
  });
});

describe("migrations", () => {
  const present = migrations.length;
  /** What the next version of the program does. */
  const newer = async <T>(
    use: (store: State) => Promise<T>,
    script = "ALTER TABLE vaults ADD COLUMN color TEXT",
  ): Promise<T> => {
    migrations.push((db) => db.exec(script));
    try {
      return await use(state.another());
    } finally {
      migrations.pop();
    }
  };
  const version = () => state.sql("PRAGMA user_version")[0]?.["user_version"];

  it("take an older state forward with all it has", async () => {
    const session = await imported(state);
    await startExchange(session, "x1", 1, "second");
    const before = await known(session);
    await session.release();
    await newer(async (store) => {
      const after = await store.lock(service, uuid, patient(state.clock));
      expect(version()).toBe(present + 1);
      expect(await after.read()).toEqual(before);
      expect(await after.token("x1")).toBe("token-of-second");
      await after.release();
    });
    await expect(state.another().list()).rejects.toMatchObject({ code: "state" });
    await expect(state.store.list()).rejects.toMatchObject({ code: "state" });
    await expect(state.store.lock(service, uuid, patient(state.clock))).rejects.toMatchObject({
      code: "state",
    });
  });

  it("make a new state in the same steps", async () => {
    await newer(async (store) => {
      await (await store.lock(service, uuid, patient(state.clock))).release();
    });
    expect(version()).toBe(present + 1);
    expect(state.sql("SELECT color FROM vaults")).toEqual([]);
  });

  it("wait for every vault that is held, so that no exchange sees the tables change", async () => {
    await (await imported(state)).release();
    const child = await startChild("hold", state);
    const list = async (store: State): Promise<number> => (await store.list()).length;
    await expect(newer(list)).rejects.toMatchObject({ code: "busy" });
    expect(version()).toBe(present);
    await kill(child);
    expect(await newer(list)).toBe(1);
    expect(version()).toBe(present + 1);
  });

  it("that fail leave the state as it was", async () => {
    await (await imported(state)).release();
    const broken = "ALTER TABLE vaults ADD COLUMN color TEXT; CREATE TABLE vaults (id)";
    await expect(newer(async (store) => await store.list(), broken)).rejects.toMatchObject({
      code: "state",
    });
    expect(version()).toBe(present);
    expect((await state.another().list()).length).toBe(1);
    expect(existsSync(state.path)).toBe(true);
  });
});
