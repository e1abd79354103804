import { beforeEach, describe, expect, it } from "vitest";
import type { VaultSession } from "../../../src/exchange/ports.ts";
import type { Creation } from "../../../src/exchange/records.ts";
import type { Database } from "../../../src/store/postgres/database.ts";
import { appendingAlone } from "../../../src/store/tables.ts";
import { transactWhole } from "../../../src/store/postgres/gate.ts";
import { dialectOf } from "../../../src/store/postgres/schema.ts";
import { PostgresWhole } from "../../../src/store/postgres/whole-state.ts";
import type { PostgresStore } from "../../../src/store/postgres/store.ts";
import type { Whole } from "../../../src/store/whole/whole.ts";
import {
  exchange,
  held,
  imported,
  intent,
  known,
  pair,
  patient,
  service,
  standings,
  started,
  uuid,
} from "../../contract/store-fixture.ts";
import { closeGate, sharedState, type SharedState as Fixture } from "../../support/shared-state.ts";
import { postgres } from "../../support/postgres.ts";
import { tcpProxy } from "../../support/proxies.ts";

/** Writes every vault with a label. */
async function relabelled(whole: Whole, label: string | null): Promise<void> {
  for await (const vaults of whole.rows("vaults"))
    await whole.put(
      "vaults",
      vaults.map((row) => ({ ...row, label })),
    );
}

let state: Fixture;
beforeEach(async () => {
  state = await sharedState();
});

const placeOf = (store: unknown): PostgresWhole => new PostgresWhole(store as PostgresStore);

const expire = async (): Promise<unknown> =>
  await state.sql(`UPDATE schema.vaults SET ends_at = '-infinity'`);

const expireGate = async (): Promise<unknown> =>
  await state.sql(
    `UPDATE schema.meta SET value = (value::jsonb || '{"until": "2026-01-01"}')::text WHERE name = 'closing'`,
  );

const numbered = (n: number): string =>
  `aaaaaaaa-bbbb-4ccc-8ddd-0000000002${String(n).padStart(2, "0")}`;

/** An operation that stalls between the gate, which it has closed, and its transaction, for as long as `meanwhile` takes, once. */
async function stalled(
  meanwhile: () => Promise<unknown>,
  work: () => Promise<unknown>,
  milliseconds = 0,
): Promise<unknown> {
  const { parts } = state.another() as PostgresStore;
  const { database } = parts;
  let isFirst = true;
  const transact: Database["transact"] = async (...given) => {
    const rows = await database.transact(...given);
    if (isFirst) {
      isFirst = false;
      await meanwhile();
    }
    return rows;
  };
  const converse: Database["converse"] = async (...given) => await database.converse(...given);
  const place = { ...parts, database: { converse, transact } };
  return await transactWhole(place, patient(state.clock, milliseconds), work);
}

describe("an operation on the whole state that stalls", () => {
  it("before its transaction until its gate has ended: it stops for who holds a vault by then", async () => {
    let called = 0;
    const sessions: VaultSession[] = [];
    const taking = async (): Promise<void> => {
      await expireGate();
      sessions.push(await imported(state));
    };
    await expect(
      stalled(taking, async () => await Promise.resolve((called += 1))),
    ).rejects.toMatchObject({
      code: "busy",
      message: expect.stringContaining("is using vault") as string,
      facts: { by: { user: "tester" } },
    });
    expect(called).toBe(0);
    for (const session of sessions) await exchange(session, "x1", 1, "second");
    expect(sessions).toHaveLength(1);
  });

  it("before its transaction until another one has done its work: it does its own after that", async () => {
    const done: string[] = [];
    const other = async (): Promise<void> => {
      await expireGate();
      await placeOf(state.another()).transact(
        "rekey",
        patient(state.clock),
        async () => await Promise.resolve(done.push("other")),
      );
    };
    await stalled(other, async () => await Promise.resolve(done.push("this")), 1000);
    expect(done).toEqual(["other", "this"]);
  });

  it("in its transaction: who comes back with a vault that it held writes nothing, before or after the commit", async () => {
    const former = await imported(state);
    await former.recordIntent(intent("x1", 1));
    await expire();
    let step: Promise<unknown> = Promise.resolve();
    await placeOf(state.another()).transact("rekey", patient(state.clock), async (whole) => {
      step = former.recordStarted("x1", started("second")).catch((error: unknown) => error);
      await relabelled(whole, null);
    });
    expect(await step).toMatchObject({ code: "busy", exitCode: 15 });
    const next = await held(state);
    expect(await standings(next)).toEqual(["1 imported"]);
    expect(await known(next)).toMatchObject({ unackedStarts: 1 });
  });

  it("takes their vaults from those who are stopped, whatever it does", async () => {
    const former = await imported(state);
    await expire();
    const nothing = async (): Promise<void> => Promise.resolve();
    await placeOf(state.another()).transact("rekey", patient(state.clock), nothing);
    await expect(former.recordIntent(intent("x1", 1))).rejects.toMatchObject({ code: "busy" });
  });

  it("and has lost its transaction by then has written nothing", async () => {
    await (await imported(state)).release();
    const ended = placeOf(state.another()).transact(
      "rekey",
      patient(state.clock),
      async (whole) => {
        await relabelled(whole, "lost");
        await state.sql(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'",
        );
        await expireGate();
        // Others go on.
        const session = await held(state);
        await exchange(session, "x1", 1, "second");
        await session.release();
        await relabelled(whole, "late");
      },
    );
    await expect(ended).rejects.toMatchObject({ code: "state" });
    expect(await standings(await held(state))).toEqual(["2 current", "1 superseded"]);
  });

  it("in its transaction, behind a gate that has ended: others are busy soon, and are told why", async () => {
    await stalled(expireGate, async () => {
      const busy = {
        code: "busy",
        message: expect.stringContaining("changing the whole state") as string,
      };
      const take = state.another().lock(service, uuid, patient(state.clock, 0));
      await expect(take).rejects.toMatchObject(busy);
      const move = placeOf(state.another()).transact("move", patient(state.clock, 0), async () =>
        Promise.resolve(),
      );
      await expect(move).rejects.toMatchObject(busy);
      const [waiters] = await state.sql(
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
      );
      expect(waiters).toEqual({ n: 0 });
    });
  });
});

it("behind a closed gate nobody takes a vault, nor begins another operation; one that ends far ahead of a clock set back is open", async () => {
  await closeGate(state, "20 seconds");
  const busy = {
    code: "busy",
    message: expect.stringContaining("changing the whole state") as string,
  };
  const take = async (): Promise<VaultSession> =>
    await state.another().lock(service, uuid, patient(state.clock, 0));
  await expect(take()).rejects.toMatchObject(busy);
  const work = async (): Promise<unknown> => Promise.resolve();
  await expect(stalled(work, work)).rejects.toMatchObject(busy);
  await closeGate(state, "1 hour");
  await (await take()).release();
  await stalled(work, work);
});

it("a vault that is not known has a row for its lease alone: nobody is shown it, and it goes with the lease", async () => {
  const rows = async (): Promise<unknown> => await state.sql("SELECT status FROM schema.vaults");
  const session = await held(state);
  expect(await rows()).toEqual([{ status: "absent" }]);
  expect(await state.store.list()).toEqual([]);
  expect(await placeOf(state.another()).read(async (whole) => await whole.isEmpty())).toBe(true);
  await session.release();
  expect(await rows()).toEqual([]);
  await held(state);
  await expire();
  await placeOf(state.another()).transact("rekey", patient(state.clock), async (whole) => {
    for await (const vaults of whole.rows("vaults")) expect(vaults).toEqual([]);
  });
  expect(await rows()).toEqual([]);
});

it("a COMMIT without an answer is no success, whether it was done or not", async () => {
  await (await imported(state)).release();
  const proxy = await tcpProxy(await postgres());
  for (const cut of ["after", "before"] as const) {
    const outcome = placeOf(state.through(proxy.port)).transact(
      "rekey",
      patient(state.clock),
      async (whole) => {
        await relabelled(whole, `commit ${cut}`);
        // The gate, the commit.
        proxy.cutAt(2, cut);
      },
    );
    await expect(outcome).rejects.toMatchObject({ code: "state", retry: "safe" });
    const [vault] = await state.another().list();
    expect(vault?.label).toBe("commit after");
  }
});

const dates = { expiryDate: null, autoLockDate: null, dateCreated: null, lastModified: null };

it("writers without a lease wait for the end of the operation, and write nothing into a state that is moved then", async () => {
  const creation: Creation = {
    id: "01CREATION",
    service,
    kind: "generic/offline",
    externalRef: "ref",
  };
  await state.store.beginCreation(creation);
  const created = {
    uuid,
    credentials: pair("created"),
    usesRemaining: null,
    limited: false,
    ...dates,
  };
  let operation: Promise<unknown> = Promise.resolve();
  const met = Promise.withResolvers<void>();
  // Waiting takes as long as the operation, whatever else the machine does.
  state.clock.meanwhile = async () => {
    met.resolve();
    await operation;
  };
  let completing: Promise<unknown> = Promise.resolve();
  operation = placeOf(state.another()).transact("rekey", patient(state.clock), async () => {
    completing = state.another().completeCreation(creation, created);
    await met.promise;
  });
  await operation;
  await completing;
  expect(await standings(await held(state))).toEqual(["1 current"]);
  await expire();
  const place = placeOf(state.another());
  let late: Promise<unknown> = Promise.resolve();
  operation = place.transact("move", patient(state.clock), async (whole) => {
    await whole.mark({ fence: { move: "m", to: "elsewhere", target: "t" } });
    late = state
      .another()
      .beginCreation(creation)
      .catch((error: unknown) => error);
  });
  await operation;
  expect(await late).toMatchObject({
    code: "state",
    message: expect.stringContaining("move of the state") as string,
  });
});

it("what a writer without a lease has begun to write is part of an operation that begins before it has ended", async () => {
  const { schema, database } = state.store.parts;
  const at = "2026-11-21T10:00:00.000Z";
  const entry = { at, service, uuid: "", exchange: "x", event: "creating", detail: {} };
  const events: unknown[] = [];
  let operation: Promise<void> = Promise.resolve();
  await database.converse("READ COMMITTED", async (query) => {
    await query(appendingAlone(dialectOf(schema), entry));
    operation = placeOf(state.another()).transact(
      "move",
      patient(state.clock, 60_000),
      async (whole) => {
        for await (const rows of whole.rows("journal"))
          events.push(...rows.map((row) => row["event"]));
      },
    );
    const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    await expect.poll(async () => (await state.sql(waiting)).length).toBe(1);
  });
  await operation;
  expect(events).toEqual(["creating"]);
});

it("an operation is not starved by those who take vaults one after another", async () => {
  let isDone = false;
  const taker = async (n: number): Promise<void> => {
    const store = state.another();
    while (!isDone) {
      const session = await store
        .lock(service, numbered(n), patient(state.clock, 0))
        .catch(() => null);
      await session?.release();
    }
  };
  const takers = Array.from({ length: 12 }, async (_, n) => await taker(n));
  const done = await placeOf(state.another()).transact(
    "rekey",
    patient(state.clock, 600_000),
    async () => Promise.resolve("done"),
  );
  expect(done).toBe("done");
  isDone = true;
  await Promise.all(takers);
});

it("several that make the same state at once make one", async () => {
  const { schema } = state.store.parts;
  for (let n = 0; n < 3; n += 1) {
    await state.sql(`DROP SCHEMA ${schema} CASCADE`);
    const stores = Array.from({ length: 4 }, () => state.another() as PostgresStore);
    const made = await Promise.all(stores.map(async (store) => await store.create("postgres")));
    expect(new Set(made.map(({ keyId }) => keyId)).size).toBe(1);
    await (await imported(state)).release();
  }
});
