import { actorOf } from "../../src/actor.ts";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ContentRow, Contents } from "../../src/store/contents.ts";
import { nothing } from "../../src/store/contents.ts";
import { PostgresWhole } from "../../src/store/postgres/whole-state.ts";
import type { PostgresStore } from "../../src/store/postgres/store.ts";
import { SqliteWhole } from "../../src/store/sqlite/whole-state.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import type { State, WholeState } from "../../src/store/state.ts";
import { unproven } from "../../src/store/whole/claim.ts";
import { differences, numbered } from "../../src/store/whole/differences.ts";
import { readWhole } from "../../src/store/whole/whole.ts";
import {
  exchange,
  imported,
  known,
  lower,
  patient,
  service,
  standings,
  uuid,
} from "../contract/store-fixture.ts";
import type { SharedState } from "../support/shared-state.ts";
import { sharedState } from "../support/shared-state.ts";
import { tempDir } from "../support/cleanup.ts";

const vault = { service, uuid: lower };
const pairOf = (generation: number, standing: string): ContentRow => ({
  ...vault,
  generation,
  standing,
});
const exchangeOf = (id: string, seq: number | null = null): ContentRow => ({ ...vault, id, seq });

describe("what has to be written", () => {
  it("is what differs, with what takes the only place of its vault last", () => {
    const before = {
      ...nothing(),
      vaults: [vault],
      credentials: [pairOf(1, "current"), pairOf(2, "imported"), pairOf(3, "void")],
    };
    const after = { ...before, credentials: [pairOf(2, "current"), pairOf(1, "superseded")] };
    const { credentials, vaults } = differences(before, after, () => false);
    expect(credentials).toEqual({
      removed: [pairOf(3, "void")],
      put: [pairOf(1, "superseded"), pairOf(2, "current")],
    });
    expect(vaults).toEqual({ removed: [], put: [] });
    expect(
      differences(before, before, ({ generation }) => generation === 2).credentials.put,
    ).toEqual([pairOf(2, "imported")]);
  });

  it("numbers exchanges by their place in the list: new ones follow, else all of the vault are numbered anew", () => {
    let last = 9;
    const next = (): number => (last += 1);
    const before = { ...nothing(), exchanges: [exchangeOf("a", 3), exchangeOf("b", 7)] };
    const seqs = (...rows: ContentRow[]): unknown[] =>
      numbered(before, { ...before, exchanges: rows }, next).exchanges.map(({ seq }) => seq);
    expect(seqs(exchangeOf("a", 3), exchangeOf("b", 7), exchangeOf("c", 1))).toEqual([3, 7, 10]);
    expect(seqs(exchangeOf("b", 7), exchangeOf("c"))).toEqual([7, 11]);
    expect(seqs(exchangeOf("c"), exchangeOf("a", 3), exchangeOf("b", 7))).toEqual([12, 13, 14]);
  });
});

it("a state that may have been used elsewhere has nothing proven; only an exchange whose token lives stays what it is", () => {
  const open = (state: string, expiry: string | null): ContentRow => ({
    ...exchangeOf(state),
    state,
    tokenExpiry: expiry,
    adopted: 0,
    endsUnanswered: 0,
  });
  const [alive, dead] = ["2026-11-21T10:05:00Z", "2026-11-21T09:00:00Z"];
  const before = {
    ...nothing(),
    credentials: [{ ...pairOf(1, "current"), proven: 1, elsewhere: 0 }],
    exchanges: [
      open("held", alive),
      open("started", dead),
      open("ending", null),
      open("acknowledged", dead),
    ],
  };
  const after = unproven(before, Date.parse("2026-11-21T10:00:00Z"));
  expect(after.credentials).toMatchObject([{ standing: "current", proven: 0, elsewhere: 1 }]);
  expect(after.exchanges.map(({ state, endsUnanswered: ends }) => `${state} ${ends}`)).toEqual([
    "held 1",
    "in-doubt 1",
    "in-doubt 1",
    "acknowledged 0",
  ]);
});

interface Engine {
  place: WholeState;
  open: () => State;
  state: SharedState;
}

const engines: Record<string, () => Promise<Engine>> = {
  PostgreSQL: async () => {
    const state = await sharedState();
    return {
      state,
      place: new PostgresWhole(state.another() as PostgresStore),
      open: () => state.another(),
    };
  },
  SQLite: async () => {
    const state = await sharedState();
    const { keySource } = state.store.parts;
    const options = {
      directory: join(tempDir("whole"), "state"),
      keySource,
      clock: state.clock,
      platform: "linux",
      by: actorOf(process.pid),
      warn: () => undefined,
    };
    return { state, place: new SqliteWhole(options), open: () => openStore(options) };
  },
};

describe.each(Object.entries(engines))("a whole state in %s", (_, make) => {
  it("is read, changed by a function, and written where it differs; a failure changes nothing", async () => {
    const { place, open, state } = await make();
    const session = await imported({ ...state, store: open() });
    await exchange(session, "x1", 1, "second");
    await exchange(session, "x2", 2, "third");
    await session.release();

    const swapped = (now: Contents): Contents => ({
      ...now,
      vaults: now.vaults.map((row) => ({ ...row, label: "swapped" })),
      credentials: now.credentials.map((row) => ({
        ...row,
        standing: { 2: "current", 3: "superseded" }[Number(row["generation"])] ?? null,
      })),
      exchanges: now.exchanges.toReversed(),
      superseded: [],
    });
    const keep = (now: Contents): Contents => ({
      ...now,
      credentials: now.credentials.filter(({ generation }) => Number(generation) > 1),
    });
    const told = await place.transact("restore", patient(state.clock), async (whole) => {
      const now = await readWhole(whole);
      await whole.write(now, swapped(keep(now)));
      return now.vaults.length;
    });
    expect(told).toBe(1);
    const failing = place.transact("restore", patient(state.clock), async (whole) => {
      await whole.write(await readWhole(whole), nothing());
      throw new Error("died");
    });
    await expect(failing).rejects.toThrow("died");

    const again = await open().lock(service, uuid, patient(state.clock));
    expect(await standings(again)).toEqual(["3 superseded", "2 current"]);
    expect(await known(again)).toMatchObject({ label: "swapped" });
    await again.release();
    expect((await open().exchanges(service, uuid, 9)).map(({ id }) => id)).toEqual(["x1", "x2"]);
    state.dispose();
  });

  it("comes in parts of at most 200 vaults, in which nothing is missing", async () => {
    const { place, open, state } = await make();
    await (await imported({ ...state, store: open() })).release();
    const uuids = Array.from(
      { length: 450 },
      (__, n) => `bbbbbbbb-bbbb-4ccc-8ddd-${String(n).padStart(12, "0")}`,
    );
    await place.transact("restore", patient(state.clock), async (whole) => {
      const [one] = [await readWhole(whole)];
      const of = (rows: ContentRow[]): ContentRow[] =>
        uuids.flatMap((each) => rows.map((row) => ({ ...row, uuid: each })));
      await whole.write(one, {
        ...one,
        vaults: [...one.vaults, ...of(one.vaults)],
        credentials: [...one.credentials, ...of(one.credentials)],
      });
    });
    const parts = await place.read(async (whole) => {
      const sizes: number[][] = [];
      for await (const part of whole.parts())
        sizes.push([part.vaults.length, part.credentials.length]);
      return sizes;
    });
    expect(parts).toEqual([
      [200, 200],
      [200, 200],
      [51, 51],
    ]);
    expect(await open().list()).toHaveLength(451);
    state.dispose();
  });

  it("is made once, with its key; then nothing is left to make", async () => {
    const { open, state } = await make();
    expect(await open().create()).toMatchObject({ updated: false });
    expect(await open().create()).toMatchObject({ created: false, updated: false });
    state.dispose();
  });

  it("says what it holds, who holds it, and what was done; another state takes its backup", async () => {
    const { place, open, state } = await make();
    const session = await imported({ ...state, store: open() });
    await exchange(session, "x1", 1, "second");
    const locks = await open().locks();
    expect(locks.map((lock) => lock.uuid)).toEqual([lower]);
    await session.release();
    const facts = await place.inspect();
    expect(facts).toMatchObject({ problem: null, vaults: [{ uuid: lower }] });
    const history = await place.history();
    const events = [...(history?.journal() ?? [])].map(({ event }) => event);
    expect(events).toEqual(["intent", "started", "ending", "acknowledged"]);
    history?.close();

    const file = join(tempDir("whole"), "backup.db");
    expect(await place.backup(file, false)).toMatchObject({ vaults: 1, pending: 0, file });
    const after = await open().lock(service, uuid, patient(state.clock));
    expect((await known(after)).generations.map((each) => each.elsewhere)).toEqual([true, true]);
    await after.release();
    const { keySource } = state.store.parts;
    const there = { directory: join(tempDir("other"), "state"), keySource, clock: state.clock };
    const other = openStore({
      ...there,
      platform: "linux",
      by: actorOf(process.pid),
      warn: () => undefined,
    });
    const { run } = await (await other.whole()).prepareRestore(file);
    expect(await run(patient(state.clock))).toMatchObject({
      aside: null,
      vaults: [{ outcome: "taken" }],
    });
    const restored = await other.lock(service, uuid, patient(state.clock));
    expect(await standings(restored)).toEqual(["2 current", "1 superseded"]);
    await restored.release();
    state.dispose();
  });
});
