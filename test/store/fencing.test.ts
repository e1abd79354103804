import { renameSync } from "node:fs";
import { join } from "node:path";
import { actorOf } from "../../src/actor.ts";
import { beforeEach, describe, expect, it } from "vitest";
import type { VaultSession } from "../../src/exchange/ports.ts";
import {
  exchange,
  imported,
  intent,
  known,
  pair,
  patient,
  problem,
  service,
  started,
  startExchange,
  uuid,
} from "../contract/store-fixture.ts";
import { temporaryState, type TemporaryState } from "./temporary-state.ts";

let state: TemporaryState;
let session: VaultSession;
beforeEach(async () => {
  state = temporaryState();
  session = await imported(state);
});

const tables = ["vaults", "spent", "runs", "journal"];
const everything = () => tables.map((table) => state.sql(`SELECT * FROM ${table}`));

describe("a process that has lost its vault", () => {
  const idle = async (): Promise<void> => await Promise.resolve();
  const atEnding = async (): Promise<void> => {
    await startExchange(session, "x1", 1, "second");
    await session.recordEnding("x1", true);
  };

  // Every step is written by the same statement.
  it.each<[string, () => Promise<void>, () => Promise<unknown>]>([
    [
      "a step that seals",
      idle,
      async () => await session.recordPair({ credentials: pair("given"), kind: "generic/offline" }),
    ],
    ["a start", idle, async () => await session.recordIntent(intent("x2", 1))],
    ["the last step", atEnding, async () => await session.acknowledge("x1", true)],
    ["a step that seals nothing", idle, async () => await session.setLabel("spare")],
  ])("writes nothing by %s", async (_, before, step) => {
    await before();
    await session.read();
    state.sql("UPDATE vaults SET version = version + 1");
    const left = everything();
    await expect(step()).rejects.toMatchObject({
      code: "state",
      message: expect.stringContaining("lost the lock of vault") as string,
    });
    expect(everything()).toEqual(left);
    state.sql("UPDATE vaults SET version = version - 1");
    await step();
    expect(everything()).not.toEqual(left);
  });

  it("writes nothing where the key of the state was replaced meanwhile", async () => {
    await session.read();
    state.sql("UPDATE meta SET value = 'f00df00df00df00d' WHERE name = 'key'");
    const left = everything();
    await expect(session.setLabel("spare")).rejects.toMatchObject({
      code: "state",
      message: expect.stringContaining("the key of the state was replaced") as string,
    });
    expect(everything()).toEqual(left);
  });

  it("loses that one alone, where it changes several at the same time", async () => {
    const others = ["2", "3", "4"].map((n) => `${uuid.slice(0, -1)}${n}`);
    const sessions = await Promise.all(
      others.map(async (id) => await state.store.lock(service, id, patient(state.clock))),
    );
    await session.read();
    state.sql("UPDATE vaults SET version = version + 1");
    const given = { credentials: pair("given"), kind: "generic/offline" } as const;
    const outcomes = await Promise.allSettled(
      [...sessions, session].map(async (each) => await each.recordPair(given)),
    );
    expect(outcomes.map(({ status }) => status)).toEqual([
      ...others.map(() => "fulfilled"),
      "rejected",
    ]);
    expect(outcomes.at(-1)).toMatchObject({ reason: { code: "state" } });
    expect((await state.store.list()).map((vault) => vault.generations.length)).toEqual([
      1,
      ...others.map(() => 1),
    ]);
  });

  it("has lost it to whoever has written since, even if its lock file went away", async () => {
    await session.recordIntent(intent("x1", 1));
    renameSync(join(state.directory, "locks"), join(state.directory, "locks-lost"));
    const next = await state.another().lock(service, uuid, patient(state.clock));
    await next.recordIntent(intent("x2", 1));
    await expect(session.recordStarted("x1", started("second"))).rejects.toMatchObject({
      code: "state",
    });
    await next.recordStarted("x2", started("second"));
    expect((await next.read())?.open).toMatchObject({ id: "x2", newGeneration: 2 });
    await next.release();
  });
});

it("writes nothing to the state in the place of one that was moved aside", async () => {
  renameSync(state.directory, `${state.directory}.damaged`);
  const there = state.another();
  const other = await there.lock(service, `${uuid.slice(0, -1)}2`, patient(state.clock));
  await other.recordPair({ credentials: pair("other"), kind: "generic/offline" });
  await other.release();
  const left = everything();
  await expect(session.recordIntent(intent("x1", 1))).rejects.toMatchObject({ code: "state" });
  expect(everything()).toEqual(left);
});

describe("the journal", () => {
  const events = () =>
    state.sql("SELECT event FROM journal ORDER BY seq").map((row) => row["event"]);

  it("says what was done, in order", async () => {
    await exchange(session, "x1", 1, "second");
    await session.recordIntent(intent("x2", 2));
    await session.noteOutcome("x2", "refused", problem, "combination");
    expect(events()).toEqual([
      "imported",
      "intent",
      "started",
      "ending",
      "acknowledged",
      "intent",
      "rejected",
    ]);
    const [last] = state.sql("SELECT * FROM journal ORDER BY seq DESC LIMIT 1");
    expect(last).toMatchObject({
      at: "2026-11-21T10:00:00.000Z",
      service,
      uuid: uuid.toLowerCase(),
      exchange: "x2",
    });
    expect(JSON.parse(String(last?.["detail"]))).toEqual({
      from: "intent",
      generation: 2,
      counted: true,
      error: problem,
      by: actorOf(process.pid),
    });
  });

  it("can only be appended to", () => {
    expect(() => state.sql("UPDATE journal SET event = 'other'")).toThrow(/append-only/);
    expect(() => state.sql("DELETE FROM journal")).toThrow(/append-only/);
    expect(events()).toEqual(["imported"]);
  });

  it("loses what is older than 400 days, rarely", async () => {
    const day = 86_400_000;
    await exchange(session, "x1", 1, "second");
    await session.release();
    const later = async (days: number): Promise<void> => {
      state.clock.at += days * day;
      session = await state.another().lock(service, uuid, patient(state.clock));
    };
    await later(200);
    await exchange(session, "x2", 2, "third");
    await session.release();
    await later(215);
    expect(events().length).toBe(9);
    await session.release();
    await later(20);
    expect(events()).toEqual(["intent", "started", "ending", "acknowledged"]);
    await session.release();
    await later(500);
    expect(events()).toEqual([]);
    expect((await known(session)).last?.id).toBe("x2");
    expect(await session.isSuperseded(pair("first"))).toBe(true);
    expect(() => state.sql("UPDATE journal SET event = 'other'")).not.toThrow();
    await session.setLabel("Ada");
    expect(() => state.sql("DELETE FROM journal")).toThrow(/append-only/);
  });

  it("keeps what counts toward lockout, however old it is", async () => {
    await exchange(session, "x1", 1, "second");
    for (const id of ["x2", "x3"]) {
      await session.recordIntent(intent(id, 2));
      await session.noteOutcome(id, "refused", problem, `combination ${id}`);
    }
    await session.release();
    for (const years of [2, 4]) {
      state.clock.at += years * 365 * 86_400_000;
      session = await state.another().lock(service, uuid, patient(state.clock));
      expect(await known(session)).toMatchObject({ failedAttempts: 2, possiblyFailed: 0 });
      await session.release();
    }
  });
});
