import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { StateDatabase } from "../../src/store/sqlite/state-database.ts";
import { held, imported, intent, known, standings, started } from "../contract/store-fixture.ts";
import { temporaryState } from "./temporary-state.ts";

/** A database whose commands are recorded. */
async function open() {
  const { options, clock, path } = temporaryState();
  const database = new StateDatabase(options);
  const connection = await database.ensure();
  connection.exec(`PRAGMA foreign_keys = ON;
    CREATE TABLE parents (id INTEGER PRIMARY KEY);
    CREATE TABLE notes (text TEXT UNIQUE, parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED)`);
  const commands: string[] = [];
  const exec = connection.exec.bind(connection);
  vi.spyOn(connection, "exec").mockImplementation((sql) => {
    commands.push(sql);
    exec(sql);
  });
  const count = (command: string): number => commands.filter((sql) => sql === command).length;
  const note = (text: string) => (db: DatabaseSync) => {
    db.prepare("INSERT INTO notes VALUES (?, NULL)").run(text);
    return text;
  };
  const notes = async () =>
    await database.read((db) =>
      db
        .prepare("SELECT text FROM notes ORDER BY rowid")
        .all()
        .map((row) => row["text"]),
    );
  return { path, connection, clock, database, count, note, notes };
}

describe("changes that are asked for at the same time", () => {
  let on: Awaited<ReturnType<typeof open>>;
  beforeEach(async () => {
    on = await open();
  });
  afterEach(() => on.connection.close());

  const write = async (...texts: string[]) =>
    await Promise.allSettled(texts.map(async (text) => await on.database.write(on.note(text))));

  test("share a commit, in their order, and none resolves before it", async () => {
    const committed: number[] = [];
    const texts = ["a", "b", "c", "d"];
    const all = texts.map(async (text) => {
      expect(await on.database.write(on.note(text))).toBe(text);
      committed.push(on.count("COMMIT"));
    });
    expect(on.count("COMMIT")).toBe(0);
    await Promise.all(all);
    expect(committed).toEqual([1, 1, 1, 1]);
    expect(await on.notes()).toEqual(texts);
    await write("e");
    expect(on.count("COMMIT")).toBe(3);
  });

  test("one that fails leaves the others alone, with what it had done undone", async () => {
    const half = (db: DatabaseSync): void => {
      on.note("half")(db);
      throw new Error("no further");
    };
    const outcomes = [write("a"), on.database.write(half), write("b", "b"), write("c")];
    await expect(outcomes[1]).rejects.toThrow("no further");
    const [, second] = (await outcomes[2]) as PromiseSettledResult<unknown>[];
    expect(second).toMatchObject({ status: "rejected", reason: { code: "state" } });
    await Promise.all([outcomes[0], outcomes[3]]);
    expect(await on.notes()).toEqual(["a", "b", "c"]);
  });

  test("all fail if the commit does", async () => {
    const orphan = (db: DatabaseSync) => db.prepare("INSERT INTO notes VALUES ('orphan', 7)").run();
    const outcomes = await Promise.allSettled([
      on.database.write(on.note("a")),
      on.database.write(orphan),
      on.database.write(on.note("b")),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(await on.notes()).toEqual([]);
    await write("later");
    expect(await on.notes()).toEqual(["later"]);
  });

  test("one at which SQLite ends the transaction leaves the others alone, too", async () => {
    const full = (db: DatabaseSync): void => {
      db.exec("ROLLBACK");
      throw new Error("disk is full");
    };
    const outcomes = await Promise.allSettled([
      on.database.write(on.note("a")),
      on.database.write(full),
      on.database.write(on.note("b")),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await on.notes()).toEqual(["a", "b"]);
  });

  test("wait together while another program has the database, and those that come meanwhile are next", async () => {
    const other = new DatabaseSync(on.path);
    other.exec("BEGIN IMMEDIATE");
    let later: Promise<unknown> | undefined;
    on.clock.meanwhile = () => {
      later ??= write("c");
      if (on.clock.slept.length === 3) other.exec("COMMIT");
    };
    await write("a", "b");
    await later;
    expect(await on.notes()).toEqual(["a", "b", "c"]);
    other.close();
  });

  test("are synced together if one of them is to be", async () => {
    const unsynced = async (text: string) => await on.database.write(on.note(text), "unsynced");
    await Promise.all([unsynced("a"), write("b")]);
    expect(on.count("PRAGMA synchronous = NORMAL")).toBe(0);
    await Promise.all([unsynced("c"), unsynced("d")]);
    expect(on.count("PRAGMA synchronous = NORMAL")).toBe(1);
    expect(on.connection.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
  });
});

test("steps of one vault that are asked for at the same time follow each other", async () => {
  const state = temporaryState();
  const session = await imported(state);
  const steps = [
    session.recordIntent(intent("x1", 1)),
    session.recordStarted("x1", started("second")),
    session.recordIntent(intent("x2", 99)),
    session.recordEnding("x1", true),
    session.acknowledge("x1"),
  ];
  const outcomes = await Promise.allSettled(steps);
  expect(outcomes.map(({ status }) => status)).toEqual([
    "fulfilled",
    "fulfilled",
    "rejected",
    "fulfilled",
    "fulfilled",
  ]);
  expect(await standings(session)).toEqual(["2 current", "1 superseded"]);
  await session.release();
  const again = await held(state);
  expect(await standings(again)).toEqual(["2 current", "1 superseded"]);
  expect((await known(again)).last).toMatchObject({ id: "x1", state: "acknowledged" });
});

test("a slot of the rate limit counts from when it is reserved, however long another program has the database before", async () => {
  const state = temporaryState();
  const [late, next] = [state.store, state.another()];
  await next.reserveSlot("other", 1);
  const other = new DatabaseSync(state.path);
  other.exec("BEGIN IMMEDIATE");
  state.clock.meanwhile = () => {
    if (state.clock.slept.length === 40) other.exec("COMMIT");
  };
  expect(await late.reserveSlot("app", 1000)).toBe(0);
  expect(state.clock.slept.length).toBeGreaterThanOrEqual(40);
  expect(await next.reserveSlot("app", 1000)).toBe(1000);
  other.close();
});

test("a slot that is refused is told to be too far away, even if it has come nearer meanwhile", async () => {
  const state = temporaryState();
  expect(await state.store.reserveSlot("app", 40_000)).toBe(0);
  const { at } = state.clock;
  let looks = 0;
  vi.spyOn(state.clock, "now").mockImplementation(() => at + 15_000 * looks++);
  expect(await state.store.reserveSlot("app", 40_000, 30_000)).toBeGreaterThan(30_000);
  expect(looks).toBe(2);
});
