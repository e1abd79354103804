import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PostgresWhole } from "../../src/store/postgres/whole-state.ts";
import type { PostgresStore } from "../../src/store/postgres/store.ts";
import { dialect } from "../../src/store/sqlite/database.ts";
import type { State, StoredWhole } from "../../src/store/whole/stored-whole.ts";
import type { Statement } from "../../src/store/tables.ts";
import { marksIn } from "../../src/store/whole/marks.ts";
import { Whole } from "../../src/store/whole/whole.ts";
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
import { localBeside, sharedState, type SharedState } from "../support/shared-state.ts";
import { tempDir } from "../support/cleanup.ts";

interface Engine {
  place: StoredWhole;
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
    return { state, ...localBeside(state) };
  },
};

it("what is written leaves in statements of at most 64 kB, and a longer row by itself, in their order", async () => {
  const sent: string[] = [];
  const query = async ({ values = [] }: Statement): Promise<never[]> => {
    sent.push(String(values[0]));
    return await Promise.resolve([]);
  };
  const key = async (): Promise<never> => await Promise.reject(new Error("nothing is sealed"));
  const whole = new Whole({ ...dialect, query }, marksIn({}), { key });
  const lengths = [20_000, 20_000, 30_000, 100_000, 50, 60];
  const rows = lengths.map((length, n) => ({ at: String(n), detail: "x".repeat(length) }));
  await whole.put("journal", rows);
  expect(sent.map((each) => (JSON.parse(each) as typeof rows).map(({ at }) => at))).toEqual([
    ["0", "1"],
    ["2"],
    ["3"],
    ["4", "5"],
  ]);
});

describe.each(Object.entries(engines))("a whole state in %s", (_, make) => {
  it("is read and written in one transaction; a failure changes nothing", async () => {
    const { place, open, state } = await make();
    const session = await imported({ ...state, store: open() });
    await exchange(session, "x1", 1, "second");
    await session.release();
    const labelled = async (whole: Whole, label: string): Promise<number> => {
      let count = 0;
      for await (const vaults of whole.rows("vaults")) {
        await whole.put(
          "vaults",
          vaults.map((row) => ({ ...row, label })),
        );
        count += vaults.length;
      }
      return count;
    };
    expect(
      await place.transact("rekey", patient(state.clock), async (whole) =>
        labelled(whole, "written"),
      ),
    ).toBe(1);
    const failing = place.transact("rekey", patient(state.clock), async (whole) => {
      await labelled(whole, "lost");
      throw new Error("died");
    });
    await expect(failing).rejects.toThrow("died");
    const again = await open().lock(service, uuid, patient(state.clock));
    expect(await standings(again)).toEqual(["2 current", "1 superseded"]);
    expect(await known(again)).toMatchObject({ label: "written" });
    await again.release();
  });

  it("comes 200 vaults at a time, of which none is missing", async () => {
    const { place, open, state } = await make();
    await (await imported({ ...state, store: open() })).release();
    const uuids = Array.from(
      { length: 450 },
      (__, n) => `bbbbbbbb-bbbb-4ccc-8ddd-${String(n).padStart(12, "0")}`,
    );
    await place.transact("rekey", patient(state.clock), async (whole) => {
      for await (const [one] of whole.rows("vaults"))
        await whole.put(
          "vaults",
          uuids.map((each) => ({ ...one, uuid: each })),
        );
    });
    const sizes = await place.read(async (whole) => {
      const found: number[] = [];
      for await (const vaults of whole.rows("vaults")) found.push(vaults.length);
      return found;
    });
    expect(sizes).toEqual([200, 200, 51]);
    expect(await open().list()).toHaveLength(451);
  });

  it("is made once, with its key; then nothing is left to make", async () => {
    const { open } = await make();
    const { keyId } = await open().create();
    expect(await open().create()).toEqual({ created: false, keyId });
  });

  it("says what it holds, who holds it, and what was done; another state takes its backup", async () => {
    const { place, open, state } = await make();
    const session = await imported({ ...state, store: open() });
    await exchange(session, "x1", 1, "second");
    const locks = await open().locks();
    expect(locks.map((lock) => lock.uuid)).toEqual([lower]);
    await session.release();
    const facts = await place.inspect();
    expect(facts).toMatchObject({ problem: null, vaults: 1 });
    const history = await place.history();
    const events = [...(history?.journal() ?? [])].map(({ event }) => event);
    expect(events).toEqual(["intent", "started", "ending", "acknowledged"]);
    history?.close();

    const file = join(tempDir("whole"), "backup.db");
    expect(await place.backup(file)).toMatchObject({ vaults: 1, pending: 0, file });
    const after = await open().lock(service, uuid, patient(state.clock));
    expect((await known(after)).generations.map((each) => each.elsewhere)).toEqual([true, true]);
    await after.release();
    const other = localBeside(state).open();
    const { run } = await (await other.whole()).prepareRestore(file);
    expect(await run(patient(state.clock))).toMatchObject({
      vaults: [{ reason: "taken" }],
    });
    const restored = await other.lock(service, uuid, patient(state.clock));
    expect(await standings(restored)).toEqual(["2 current", "1 superseded"]);
    await restored.release();
  });
});
