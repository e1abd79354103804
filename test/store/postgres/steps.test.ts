import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { VaultSession } from "../../../src/exchange/ports.ts";
import type { Database } from "../../../src/store/postgres/database.ts";
import { AnswerLost } from "../../../src/store/postgres/errors.ts";
import { imported, intent, known, pair, started } from "../../contract/store-fixture.ts";
import { sharedState, type SharedState } from "../../support/shared-state.ts";

let state: SharedState;
let session: VaultSession;
beforeEach(async () => {
  state = await sharedState();
  session = await imported(state);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await session.release();
});

it("a step that the server refuses has not been made: the next one follows the one before", async () => {
  await state.sql(`CREATE FUNCTION schema.refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$`);
  await state.sql(`CREATE TRIGGER refusing BEFORE INSERT ON schema.journal
    FOR EACH STATEMENT EXECUTE FUNCTION schema.refuse()`);
  await expect(session.recordIntent(intent("x1", 1))).rejects.toThrow(
    /the server says no space left \(53100\)/,
  );
  await state.sql("DROP TRIGGER refusing ON schema.journal");
  await session.recordIntent(intent("x1", 1));
  expect(await known(session)).toMatchObject({ last: { id: "x1", state: "intent" } });
});

it("a step whose answer is lost, and which arrives after it was looked for, finds its place taken", async () => {
  const { database } = state.store.parts;
  const [transact, query] = [database.transact.bind(database), database.query.bind(database)];
  let late: Parameters<Database["transact"]>[0] = [];
  let arrived: Promise<string> | undefined;
  // What looks for it comes first.
  const arrive = async <T>(looked: Promise<T>): Promise<T> => {
    const rows = await looked;
    await (arrived ??= transact(late).then(([own]) =>
      own?.length === 0 ? "found no row" : "was made",
    ));
    return rows;
  };
  vi.spyOn(database, "query").mockImplementation(async (given) => await arrive(query(given)));
  vi.spyOn(database, "transact")
    .mockImplementationOnce(async (statements) => {
      late = statements;
      return await Promise.reject(new AnswerLost(database.address, "cut"));
    })
    .mockImplementation(async (...given) => await arrive(transact(...given)));
  await session.recordIntent(intent("x1", 1));
  expect(await arrived).toBe("found no row");
  await session.recordStarted("x1", started("second"));
  expect(await known(session)).toMatchObject({ last: { id: "x1", state: "started" } });
});

it("a step whose answer is lost, and which was made, is not made again, however often it is looked for", async () => {
  const { database } = state.store.parts;
  const transact = database.transact.bind(database);
  let calls = 0;
  vi.spyOn(database, "transact").mockImplementation(async (...given) => {
    const rows = await transact(...given);
    // Its own answer, and that of the first look.
    if ((calls += 1) <= 2) throw new AnswerLost(database.address, "cut");
    return rows;
  });
  await session.recordIntent(intent("x1", 1));
  expect(calls).toBe(3);
  await session.recordStarted("x1", started("second"));
  expect(await known(session)).toMatchObject({ last: { id: "x1", state: "started" } });
});

it("the last step of a vault, of which every answer is lost: no later one is made, since nobody holds the vault", async () => {
  const { database } = state.store.parts;
  const transact = database.transact.bind(database);
  await session.recordIntent(intent("x1", 1));
  await session.recordStarted("x1", started("second"));
  await session.recordEnding("x1", true);
  const spy = vi.spyOn(database, "transact").mockImplementation(async (...given) => {
    await transact(...given);
    throw new AnswerLost(database.address, "cut");
  });
  await expect(session.acknowledge("x1", true)).rejects.toMatchObject({ code: "state" });
  spy.mockRestore();
  await expect(session.forget()).rejects.toMatchObject({ code: "busy" });
  expect(await state.store.locks()).toEqual([]);
});

it("what a step has to read is asked for again where the answer is lost: created credentials are nowhere else", async () => {
  const { database } = state.store.parts;
  vi.spyOn(database, "transact").mockRejectedValueOnce(new AnswerLost(database.address, "cut"));
  await session.recordPair({ kind: "generic/offline", credentials: pair("created") });
  expect((await known(session)).generations).toHaveLength(2);
});
