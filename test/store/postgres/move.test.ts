import { cpSync } from "node:fs";
import { command } from "../../../src/way.ts";
import { describe, expect, it } from "vitest";
import { VaultError } from "../../../src/errors.ts";
import type { Store } from "../../../src/exchange/ports.ts";
import { absent } from "../../../src/store/postgres/errors.ts";
import { PostgresWhole } from "../../../src/store/postgres/whole-state.ts";
import type { PostgresStore } from "../../../src/store/postgres/store.ts";
import { waysToEnd } from "../../../src/store/whole/marks.ts";
import { moveState, prepareClaim } from "../../../src/store/whole/move.ts";
import type { StoredWhole, WholePlace } from "../../../src/store/whole/stored-whole.ts";
import { exchange, pair, patient, service, standings } from "../../contract/store-fixture.ts";
import { sample } from "../../support/campaign.ts";
import { localBeside, sharedState, type SharedState } from "../../support/shared-state.ts";
import { postgres } from "../../support/postgres.ts";
import { tcpProxy } from "../../support/proxies.ts";

const uuids = [
  "aaaaaaaa-bbbb-4ccc-8ddd-00000000000a",
  "aaaaaaaa-bbbb-4ccc-8ddd-00000000000b",
] as const;

/** The states of two machines, each with a vault of its own, at directories, and an empty shared one. */
async function machines(): Promise<{
  target: SharedState;
  to: PostgresWhole;
  local: readonly [Local, Local];
}> {
  const target = await sharedState();
  const make = async (id: string): Promise<Local> => {
    const local = localBeside(target);
    await use(local.open(), target, id);
    return { id, ...local };
  };
  return {
    target,
    to: placeOf(target.another()),
    local: [await make(uuids[0]), await make(uuids[1])],
  };
}

interface Local {
  id: string;
  open: () => Store;
  place: StoredWhole;
}

const placeOf = (store: Store): PostgresWhole => new PostgresWhole(store as PostgresStore);

/** Imports a vault and reads it once. */
async function use(store: Store, { clock }: Pick<SharedState, "clock">, id: string): Promise<void> {
  const session = await store.lock(service, id, patient(clock));
  await session.recordPair({ credentials: pair(`first of ${id}`), kind: "generic/offline" });
  await exchange(session, "x1", 1, `second of ${id}`);
  await session.release();
}

/** The vaults that can be used there; null if it is not to be used. */
const vaults = async (store: Store): Promise<string[] | null> =>
  await store.list().then(
    (list) => list.map((vault) => vault.uuid),
    () => null,
  );

/** A vault is used there as it was left. */
async function goesOn(
  store: Store,
  { clock }: Pick<SharedState, "clock">,
  id: string,
): Promise<void> {
  const session = await store.lock(service, id, patient(clock));
  expect((await standings(session))[0]).toBe("2 current");
  await exchange(session, "x2", 2, "third");
  await session.release();
}

/** A place that does something before or after its n-th transaction. */
function hooked(
  place: WholePlace,
  nth: number,
  hook: { before?: () => Promise<unknown>; after?: () => Promise<unknown> },
): WholePlace {
  let n = 0;
  return {
    shown: place.shown,
    read: async (work) => await place.read(work),
    transact: async (operation, waiting, work) => {
      const isIt = (n += 1) === nth;
      if (isIt) await hook.before?.();
      const result = await place.transact(operation, waiting, work);
      if (isIt) await hook.after?.();
      return result;
    },
  };
}

/** The transactions of a move at its target: it is looked at, and takes the contents. At its source: the fence, and the mark. */
const [looked, received] = [1, 2];
const [fenced, marked] = [1, 2];

/** A claim, as of now, of a state whose target does not answer. */
const unanswered = async (place: StoredWhole): ReturnType<typeof prepareClaim> =>
  await prepareClaim(
    place,
    async () => await Promise.reject(new VaultError("state", "gone", { cause: absent })),
    () => undefined,
  );

type Move = (from: WholePlace, to: WholePlace) => Promise<unknown>;

const died = async (): Promise<never> => await Promise.reject(new Error("died"));

const raise = (warning: string): never => {
  throw new Error(warning);
};

/** The transactions of a move, in their order. */
const steps = ["look", "fence", "receive", "mark"] as const;

const deaths = steps.flatMap((step) =>
  (["before", "after"] as const).map((when) => ({ step, when })),
);

describe.each([
  ["a directory", "a database"],
  ["a database", "a directory"],
])("a move from %s to %s", (origin) => {
  const id = uuids[0];
  /** Where it begins, with a vault that was used there, and where it ends. */
  const sides = async () => {
    const state = await sharedState();
    const [database, directory] = [
      { place: placeOf(state.another()), open: state.another },
      localBeside(state),
    ];
    const [from, to] = origin === "a database" ? [database, directory] : [directory, database];
    await use(from.open(), state, id);
    return { state, from, to };
  };

  it.each(deaths)(
    "that dies $when $step: never two places that can be used, nothing is lost, and it can be repeated",
    async ({ step, when }) => {
      const { state, from, to } = await sides();
      const at = steps.indexOf(step);
      const isTarget = step === "look" || step === "receive";
      const dying = (place: WholePlace): WholePlace =>
        hooked(place, at < 2 ? 1 : 2, { [when]: died });
      const [a, b] = isTarget ? [from.place, dying(to.place)] : [dying(from.place), to.place];
      await expect(moveState(a, b, patient(state.clock))).rejects.toThrow("died");
      const usable = async () =>
        (await Promise.all([vaults(from.open()), vaults(to.open())])).map(
          (list) => list !== null && list.length > 0,
        );
      const done = at + Number(when === "after");
      const [here, there] = await usable();
      expect([here, there]).toEqual([done < 2, done > 2]);
      // Whoever uses it before the move is repeated loses nothing by it.
      if (here) await goesOn(from.open(), state, id);

      await moveState(from.place, to.place, patient(state.clock));
      expect(await usable()).toEqual([false, true]);
      await expect(from.open().lock(service, id, patient(state.clock))).rejects.toMatchObject({
        code: "state",
        message: expect.stringContaining("was moved to") as string,
      });
      const session = await to.open().lock(service, id, patient(state.clock));
      const base = here ? 3 : 2;
      expect((await standings(session))[0]).toBe(`${base} current`);
      await exchange(session, "x3", base, "last");
      await session.release();
      const [vault] = await to.open().find(id);
      expect(vault?.exchanges.map((each) => each.id)).toEqual(
        here ? ["x3", "x2", "x1"] : ["x3", "x1"],
      );
    },
  );

  it.each([
    ["look", looked, "to", false],
    ["receive", received, "to", true],
    ["fence", fenced, "from", false],
    ["mark", marked, "from", true],
  ] as const)(
    "that fails at its %s says whether the state rests, and how it goes on",
    async (_, nth, at, rests) => {
      const { state, from, to } = await sides();
      const full = new VaultError("state", "the disk is full", { hint: "free some space there" });
      const places = { from: from.place, to: to.place };
      const before = async (): Promise<never> => await Promise.reject(full);
      const failing = { ...places, [at]: hooked(places[at], nth, { before }) };
      const failed: unknown = await moveState(failing.from, failing.to, patient(state.clock)).catch(
        (error: unknown) => error,
      );
      if (rests)
        expect(failed).toMatchObject({
          code: "state",
          message: `the disk is full; the state ${from.place.shown} is not used until its move is finished or given up`,
          facts: {
            hint: "free some space there",
            next: [
              {
                ...command`vault state move --to ${to.place.shown} --state ${from.place.shown}`,
                note: "finishes it",
              },
              { ...command`vault state claim --state ${from.place.shown}`, note: "gives it up" },
            ],
          },
        });
      else expect(failed).toBe(full);
    },
  );

  it("that finds its target gone after its fence says that the state rests, and how it goes on", async () => {
    const { state, from, to } = await sides();
    const away = new VaultError("state", "cannot be reached");
    let reads = 0;
    const read: WholePlace["read"] = async (work) =>
      (reads += 1) === 1 ? await to.place.read(work) : await Promise.reject(away);
    const going = Object.assign(hooked(to.place, 0, {}), { read });
    await expect(moveState(from.place, going, patient(state.clock))).rejects.toMatchObject({
      message: expect.stringContaining("is not used until its move is finished") as string,
      facts: { next: waysToEnd(from.place.shown, to.place.shown) },
    });
  });
});

describe("two machines that move into one shared state", () => {
  it.each<
    [
      string,
      (
        move: Move,
        a: WholePlace,
        to: WholePlace,
        second: () => Promise<unknown>,
      ) => Promise<unknown>[],
    ]
  >([
    ["at once", (move, a, to, second) => [move(a, to), second()]],
    [
      "the other one after this has looked",
      (move, a, to, second) => [move(a, hooked(to, looked, { after: second }))],
    ],
    [
      "the other one after this has begun",
      (move, a, to, second) => [move(hooked(a, fenced, { after: second }), to)],
    ],
  ])("%s: one wins, and the state of the other is as it was", async (_, run) => {
    const { target, to, local } = await machines();
    const [a, b] = local;
    const move: Move = async (from, at) => await moveState(from, at, patient(target.clock, 60_000));
    const outcomes = await Promise.allSettled(
      run(move, a.place, to, async () => await move(b.place, placeOf(target.another()))),
    );
    const failures = outcomes.filter(({ status }) => status === "rejected");
    expect(failures).toMatchObject([{ reason: { code: "state", exitCode: 14 } }]);
    const there = (await vaults(target.another())) ?? [];
    expect(there).toHaveLength(1);
    const [winner, loser] = there[0] === a.id ? [a, b] : [b, a];
    expect(await vaults(winner.open())).toBeNull();
    await goesOn(target.another(), target, winner.id);
    await goesOn(loser.open(), target, loser.id);
  });

  it("a vault that is put there while a move is under way stays, and the move does not take place", async () => {
    const { target, to, local } = await machines();
    const [a, b] = local;
    const put = async (): Promise<void> => await use(target.another(), target, b.id);
    for (const from of [
      hooked(a.place, fenced, { after: put }),
      hooked(a.place, fenced, { before: put }),
    ]) {
      await expect(moveState(from, to, patient(target.clock))).rejects.toMatchObject({
        code: "state",
      });
      expect(await vaults(target.another())).toEqual([b.id]);
      expect(await vaults(a.open())).toEqual([a.id]);
    }
    await goesOn(target.another(), target, b.id);
    await goesOn(a.open(), target, a.id);
  });

  it("with the same path: who is killed finds its state as it was, whatever the other one has done there since", async () => {
    const { target, to, local } = await machines();
    const [a, b] = local;
    // Only the text of the path is the same.
    const named = (place: WholePlace): WholePlace =>
      Object.assign(hooked(place, 0, {}), { shown: "/var/lib/vault" });
    await expect(
      moveState(hooked(named(a.place), fenced, { after: died }), to, patient(target.clock)),
    ).rejects.toThrow("died");
    expect(await vaults(a.open())).toBeNull();
    await moveState(named(b.place), to, patient(target.clock));
    await expect(moveState(named(a.place), to, patient(target.clock))).rejects.toMatchObject({
      code: "state",
    });
    expect(await vaults(target.another())).toEqual([b.id]);
    await goesOn(target.another(), target, b.id);
    await goesOn(a.open(), target, a.id);
  });
});

describe("a move that is given up", () => {
  /** Gives it up, as another process. */
  const claim = async (
    { place }: Pick<Local, "place">,
    target: SharedState,
    to: WholePlace = placeOf(target.another()),
  ): Promise<void> => {
    const { clock } = target;
    await (
      await prepareClaim(place, async () => Promise.resolve(to), raise)
    )(patient(clock));
  };

  it("after the fence: the state is used as before, and whoever comes back from a stall does not move it any more", async () => {
    const { target, to, local } = await machines();
    const [a] = local;
    const stalled = hooked(to, received, { before: async () => await claim(a, target) });
    await expect(moveState(a.place, stalled, patient(target.clock))).rejects.toMatchObject({
      code: "state",
      message: expect.stringContaining("was moved or claimed meanwhile") as string,
    });
    expect(await vaults(target.another())).toEqual([]);
    await goesOn(a.open(), target, a.id);
    // A new one is another move.
    await moveState(a.place, to, patient(target.clock));
    expect(await vaults(target.another())).toEqual([a.id]);
  });

  it("after the target has taken it: is not, and can be finished", async () => {
    const { target, to, local } = await machines();
    const [a] = local;
    await expect(
      moveState(a.place, hooked(to, received, { after: died }), patient(target.clock)),
    ).rejects.toThrow("died");
    await expect(claim(a, target)).rejects.toMatchObject({
      code: "state",
      message: expect.stringContaining("was interrupted") as string,
      facts: { next: waysToEnd(a.place.shown, to.shown).slice(0, 1) },
    });
    expect(await vaults(a.open())).toBeNull();
    expect(await moveState(a.place, to, patient(target.clock))).toEqual({ vaults: null });
    await goesOn(target.another(), target, a.id);
  });

  it("while it is being finished: one of both ends it", async () => {
    const { target, to, local } = await machines();
    const [a] = local;
    const ends = await Promise.allSettled([
      moveState(
        hooked(a.place, marked, {
          before: async () => await claim(a, target).catch(() => undefined),
        }),
        to,
        patient(target.clock),
      ),
    ]);
    expect(ends).toMatchObject([{ status: "fulfilled", value: { vaults: 1 } }]);
    expect(await vaults(a.open())).toBeNull();
    await goesOn(target.another(), target, a.id);
  });

  it.each(["by the command", "by a target in which another vault is"])(
    "%s, and the process dies before the state is used again: the move, run again, ends that",
    async (how) => {
      const { target, to, local } = await machines();
      const [a, b] = local;
      if (how === "by the command") {
        await expect(
          moveState(hooked(a.place, fenced, { after: died }), to, patient(target.clock)),
        ).rejects.toThrow("died");
        const dying = hooked(to, 1, { after: died });
        await expect(claim(a, target, dying)).rejects.toThrow("died");
      } else {
        const put = async (): Promise<void> => await use(target.another(), target, b.id);
        const full = hooked(to, received, { before: put, after: died });
        await expect(moveState(a.place, full, patient(target.clock))).rejects.toThrow("died");
      }
      expect(await vaults(a.open())).toBeNull();
      await expect(moveState(a.place, to, patient(target.clock))).rejects.toMatchObject({
        code: "state",
        message: expect.stringContaining("was moved or claimed meanwhile") as string,
      });
      await goesOn(a.open(), target, a.id);
      expect(await vaults(target.another())).toEqual(how === "by the command" ? [] : [b.id]);
    },
  );

  it.each(["claimed", "finished"])(
    "of a shared state that is dumped and loaded again meanwhile: %s, and then it is a copy, or moved",
    async (end) => {
      const [from, target] = [await sharedState(), await sharedState()];
      await use(from.store, from, uuids[0]);
      const to = placeOf(target.another());
      const waiting = patient(from.clock);
      const stopped = hooked(to, received, { before: died });
      await expect(moveState(placeOf(from.another()), stopped, waiting)).rejects.toThrow("died");
      await from.sql("UPDATE schema.identity SET id = id");
      const copy = placeOf(from.another());
      if (end === "claimed") {
        await (
          await prepareClaim(copy, async () => Promise.resolve(to), raise)
        )(waiting);
        expect(await vaults(from.another())).toEqual([uuids[0]]);
        expect(await vaults(target.another())).toEqual([]);
      } else {
        expect(await moveState(copy, to, waiting)).toEqual({ vaults: 1 });
        await expect(from.another().list()).rejects.toMatchObject({
          message: expect.stringContaining("was moved to") as string,
        });
        // The key went along.
        const [left, there] = [from, target].map(({ store }) => store.parts.keySource.folder);
        cpSync(left ?? "", there ?? "", { recursive: true });
        expect(await vaults(target.another())).toEqual([uuids[0]]);
      }
    },
  );

  it("of a database, as it was before the move began: the move that has begun since is not undone", async () => {
    const { target, to } = await machines();
    const shared = await sharedState();
    await use(shared.store, shared, uuids[0]);
    const place = placeOf(shared.another());
    // It has looked at a state that nobody moves.
    const claim = await prepareClaim(place, async () => Promise.resolve(to), raise);
    const stopped = hooked(to, received, { after: died });
    await expect(moveState(place, stopped, patient(target.clock))).rejects.toThrow("died");
    await expect(claim(patient(target.clock))).rejects.toMatchObject({ code: "state" });
    expect(await vaults(shared.another())).toBeNull();
    expect(await target.sql("SELECT uuid FROM schema.vaults")).toEqual([{ uuid: uuids[0] }]);
  });
});

it("a target that was made anew meanwhile takes nothing, and the fence stays", async () => {
  const { target, to, local } = await machines();
  const [a] = local;
  const anew = async (): Promise<void> => {
    await target.sql(`DROP SCHEMA ${target.store.parts.schema} CASCADE`);
    const store = target.another() as PostgresStore;
    await store.create();
  };
  const fresh = placeOf(target.another());
  await expect(
    moveState(hooked(a.place, fenced, { after: anew }), to, patient(target.clock)),
  ).rejects.toMatchObject({ code: "state" });
  await expect(moveState(a.place, fresh, patient(target.clock))).rejects.toMatchObject({
    code: "state",
    message: expect.stringContaining("made anew") as string,
  });
  expect(await vaults(a.open())).toBeNull();
  expect(await vaults(target.another())).toEqual([]);

  // The former one is gone for good. It may have been used there.
  await (
    await unanswered(a.place)
  )(patient(target.clock));
  expect(
    (await a.open().list()).map(({ generations }) => generations.map(({ proven }) => proven)),
  ).toEqual([[false, false]]);
  await goesOn(a.open(), target, a.id);
  await expect(unanswered(a.place)).rejects.toMatchObject({ code: "usage" });
});

describe("a claim does not undo a move that ended after it was asked for", () => {
  it("of a directory", async () => {
    const { target, to, local } = await machines();
    const [a] = local;
    const move = async (from: WholePlace): Promise<unknown> =>
      await moveState(from, to, patient(target.clock));
    await expect(move(hooked(a.place, fenced, { after: died }))).rejects.toThrow("died");
    const claim = await unanswered(a.place);
    await move(a.place);
    await expect(claim(patient(target.clock))).rejects.toMatchObject({
      code: "state",
      message: expect.stringContaining("meanwhile") as string,
    });
    expect(await vaults(a.open())).toBeNull();
    await goesOn(target.another(), target, a.id);
  });

  it("of a shared state", async () => {
    const { target } = await machines();
    const fence = JSON.stringify({ move: "x", to: "elsewhere", target: "y" });
    const session = await target.store.lock(service, uuids[0], patient(target.clock));
    await target.sql(`INSERT INTO schema.meta VALUES ('fence', '${fence}')`);
    let finished = Promise.resolve();
    const tell = (): void => {
      finished = target
        .sql("UPDATE schema.meta SET name = 'moved' WHERE name = 'fence'")
        .then(async () => await session.release());
    };
    const waiting = { ...patient(target.clock, 60_000), tell };
    const claim = await unanswered(placeOf(target.another()));
    await expect(claim(waiting)).rejects.toMatchObject({
      code: "state",
      message: expect.stringContaining("meanwhile") as string,
    });
    await finished;
    const marks = await target.sql("SELECT name FROM schema.meta WHERE name IN ('fence', 'moved')");
    expect(marks).toEqual([{ name: "moved" }]);
  });
});

it("a state of which the tables are seen without their rows, as one that is just being made, is none", async () => {
  const { target, to, local } = await machines();
  const [a] = local;
  const waiting = patient(target.clock);
  const stopped = hooked(to, received, { before: died });
  await expect(moveState(a.place, stopped, waiting)).rejects.toThrow("died");
  await target.sql("DELETE FROM schema.meta");
  const there = placeOf(target.another());
  for (const command of [
    async () => await moveState(a.place, there, waiting),
    async () => await unanswered(there),
    async () => await target.another().list(),
  ])
    await expect(command()).rejects.toMatchObject({
      code: "state",
      message: expect.stringContaining("it holds no state") as string,
    });
});

it("a target that was set back to before the move does not count as the place of the state", async () => {
  const { target, to, local } = await machines();
  const [a] = local;
  await moveState(a.place, to, patient(target.clock));
  await target.sql("DELETE FROM schema.meta WHERE name IN ('taken', 'predecessors')");
  await expect(
    moveState(a.place, placeOf(target.another()), patient(target.clock)),
  ).rejects.toMatchObject({
    code: "state",
    facts: {
      next: expect.arrayContaining([
        expect.objectContaining({ argv: expect.arrayContaining(["state", "claim"]) as unknown }),
      ]) as unknown,
    },
  });
  expect(await vaults(a.open())).toBeNull();
});

it("a target that is a copy by now says how it is claimed, and by its name: the place that was moved there is none to claim", async () => {
  const { target, to, local } = await machines();
  const [a] = local;
  await moveState(a.place, to, patient(target.clock));
  // Put back from a dump.
  await target.sql("UPDATE schema.identity SET id = id");
  await expect(target.another().list()).rejects.toMatchObject({
    message: expect.stringContaining("is a copy") as string,
    facts: { next: [expect.objectContaining(command`vault state claim --state ${to.shown}`)] },
  });
  const copy = placeOf(target.another());
  await expect(
    prepareClaim(a.place, async () => Promise.resolve(copy), raise),
  ).rejects.toMatchObject({
    code: "state",
    facts: { next: [expect.objectContaining(command`vault config set state ${to.shown}`)] },
  });
  await (
    await prepareClaim(copy, async () => Promise.resolve(a.place), raise)
  )(patient(target.clock));
  await goesOn(target.another(), target, a.id);
});

describe.each(["before", "after"] as const)(
  "a connection that is cut %s the server has it",
  (cut) => {
    it.each(["to", "from"] as const)(
      "at a request of a move %s the database: it moves once, or can be repeated",
      async (direction) => {
        const proxy = await tcpProxy(await postgres());
        const requests = Array.from({ length: 75 }, (_, n) => n + 1);
        for (const n of sample(requests, 3)) {
          const { target, local } = await machines();
          const [a] = local;
          const through = placeOf(target.through(proxy.port));
          if (direction === "from")
            await moveState(a.place, placeOf(target.another()), patient(target.clock));
          const back = localBeside(target);
          const move = async (at: WholePlace): Promise<unknown> =>
            direction === "to"
              ? await moveState(a.place, at, patient(target.clock))
              : await moveState(at, back.place, patient(target.clock));
          proxy.cutAt(n, cut);
          const outcome = await move(through).catch((error: unknown) => error);
          if (outcome instanceof Error)
            expect(outcome).toMatchObject({ exitCode: expect.toBeOneOf([14, 15]) as number });
          proxy.cutAt(0, cut);
          if (outcome instanceof Error) await move(placeOf(target.another()));
          const [from, to] =
            direction === "to" ? [a.open(), target.another()] : [target.another(), back.open()];
          expect([await vaults(from), await vaults(to)], `request ${n}`).toEqual([null, [a.id]]);
          await goesOn(to, target, a.id);
          target.dispose();
        }
      },
    );
  },
);
