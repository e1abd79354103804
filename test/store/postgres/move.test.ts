import { command } from "../../../src/way.ts";
import { describe, expect, it } from "vitest";
import { VaultError } from "../../../src/errors.ts";
import type { Store } from "../../../src/exchange/ports.ts";
import { PostgresWhole } from "../../../src/store/postgres/whole-state.ts";
import type { PostgresStore } from "../../../src/store/postgres/store.ts";
import { moveState } from "../../../src/store/whole/move.ts";
import type { WholePlace } from "../../../src/store/whole/whole.ts";
import type { StoreFixture } from "../../contract/store-fixture.ts";
import { exchange, pair, patient, service, standings, uuid } from "../../contract/store-fixture.ts";
import { localBeside, sharedState } from "../../support/shared-state.ts";

interface Side {
  place: WholePlace;
  /** A further process that uses it. */
  open: () => Store;
}

interface Sides {
  clock: StoreFixture["clock"];
  database: Side;
  directory: Side;
}

async function sides(): Promise<Sides> {
  const state = await sharedState();
  const { clock } = state;
  return {
    clock,
    database: { place: new PostgresWhole(state.another() as PostgresStore), open: state.another },
    directory: localBeside(state),
  };
}

/** The transactions of a move, in their order. */
const steps = ["look", "fence", "receive", "mark"] as const;

const deaths = steps.flatMap((step) =>
  (["before", "after"] as const).map((when) => ({ step, when })),
);

/** A place whose process dies at its n-th transaction, before it or after it. */
function dying(
  place: WholePlace,
  nth: number,
  when: "before" | "after",
  error = new Error("died"),
): WholePlace {
  let n = 0;
  const transact: WholePlace["transact"] = async (operation, waiting, work) => {
    n += 1;
    const dies = n === nth;
    if (dies && when === "before") throw error;
    const result = await place.transact(operation, waiting, work);
    if (dies) throw error;
    return result;
  };
  return { shown: place.shown, read: async (work) => await place.read(work), transact };
}

async function use(
  store: Store,
  clock: StoreFixture["clock"],
  id: string,
  base: number,
): Promise<void> {
  const session = await store.lock(service, uuid, patient(clock));
  await exchange(session, id, base, `pair-${id}`);
  await session.release();
}

describe.each([
  ["a directory", "a database"],
  ["a database", "a directory"],
])("a move from %s to %s", (origin) => {
  it.each(deaths)(
    "that dies $when $step: never two places that can be used, nothing is lost, and it can be repeated",
    async ({ step, when }) => {
      const { clock, database, directory } = await sides();
      const [from, to] = origin === "a database" ? [database, directory] : [directory, database];
      const first = await from.open().lock(service, uuid, patient(clock));
      await first.recordPair({
        credentials: pair("first"),
        kind: "generic/offline",
        label: "under-the-palm",
      });
      await exchange(first, "x1", 1, "second");
      await first.release();

      const at = steps.indexOf(step);
      const isTarget = step === "look" || step === "receive";
      const nth = at < 2 ? 1 : 2;
      const [a, b] = isTarget
        ? [from.place, dying(to.place, nth, when)]
        : [dying(from.place, nth, when), to.place];
      await expect(moveState(a, b, patient(clock))).rejects.toThrow("died");
      const usable = async ({ open }: Side): Promise<boolean> =>
        await open()
          .list()
          .then(
            (vaults) => vaults.length > 0,
            () => false,
          );
      const [here, there] = [await usable(from), await usable(to)];
      const done = at + Number(when === "after");
      expect([here, there]).toEqual([done < 2, done > 2]);
      // Whoever uses it before the move is repeated loses nothing by it.
      if (here) await use(from.open(), clock, "x2", 2);

      await moveState(from.place, to.place, patient(clock));
      expect([await usable(from), await usable(to)]).toEqual([false, true]);
      await expect(from.open().lock(service, uuid, patient(clock))).rejects.toMatchObject({
        code: "state",
        message: expect.stringContaining("was moved to") as string,
      });
      const session = await to.open().lock(service, uuid, patient(clock));
      expect((await standings(session))[0]).toBe(here ? "3 current" : "2 current");
      expect((await session.read())?.label).toBe("under-the-palm");
      await exchange(session, "x3", here ? 3 : 2, "last");
      await session.release();
      expect(
        (await to.open().find(uuid)).flatMap((vault) => vault.exchanges.map(({ id }) => id)),
      ).toEqual(here ? ["x3", "x2", "x1"] : ["x3", "x1"]);
    },
  );

  it.each([
    ["look", 1, false],
    ["receive", 2, true],
  ])(
    "that fails at its %s says whether the state rests, and how it goes on",
    async (_, nth, rests) => {
      const { clock, database, directory } = await sides();
      const [from, to] = origin === "a database" ? [database, directory] : [directory, database];
      const session = await from.open().lock(service, uuid, patient(clock));
      await session.recordPair({ credentials: pair("first"), kind: "generic/offline" });
      await session.release();
      const full = new VaultError("state", "the disk is full", { hint: "free some space there" });
      const failed: unknown = await moveState(
        from.place,
        dying(to.place, nth, "before", full),
        patient(clock),
      ).catch((error: unknown) => error);
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
});
