import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { evenly, isWhole, tried } from "../support/campaign.ts";
import { explore, type Explored } from "./model/checker.ts";
import { flaws, type Flaw } from "./model/flaws.ts";
import { holderBounds, holderFlaws } from "./model/holders/scenes.ts";
import { holdersModel } from "./model/holders/rules.ts";
import { allBounds, asDesigned, protocol } from "./model/protocol.ts";
import { walk } from "./model/cover.ts";
import { waysOn } from "./model/client.ts";
import { RealStore } from "./model/conformance/store.ts";
import { differentWays } from "./model/conformance/conformance.ts";
import type { Store } from "./model/state.ts";
import { callsFor, comparable, modelled, Stores, taken } from "./model/conformance/calls.ts";

const named = <T extends { name: string }>(all: readonly T[], name: string): T => {
  const found = all.find((bounds) => bounds.name === name);
  if (found === undefined) throw new Error(`no bounds are called ${name}`);
  return found;
};

/** The short form explores the first one, which is the smallest, and looks for the mistakes that are found soon. */
const explored = isWhole ? allBounds : allBounds.slice(0, 1);
const soon = (all: readonly Flaw[]): readonly Flaw[] =>
  isWhole ? all : all.filter(({ isFoundLate }) => isFoundLate !== true);

const time = Date.parse("2026-11-20T12:00:00Z");
const clock = { now: () => time, elapsed: () => time, sleep: async () => Promise.resolve() };
const known = new Set<string>();
/** Durable states of one exploration that are compared with the code; there are hundreds of thousands. */
const chosen = isWhole ? 1_500 : 15;
/** A shared state takes a hundred times as long: every so manieth durable state is tried there, too. */
const sharedStride = isWhole ? 200 : 3;
let real: RealStore;
let shared: RealStore;
beforeAll(async () => {
  real = await RealStore.open("SQLite", clock);
  shared = await RealStore.open("PostgreSQL", clock);
});
afterAll(async () => await Promise.all([real.close(), shared.close()]));

/** Makes every call of the port in a durable state. Returns how many. */
async function expectCallsAsModelled(real: RealStore, store: Store): Promise<number> {
  const calls = callsFor(real, store);
  for (const call of calls) {
    await real.load(store);
    const expected = modelled(store, call);
    const told = `${call.name} in ${JSON.stringify(store)}`;
    expect(await taken(real, call), told).toBe(expected.isTaken);
    expect(comparable(await real.read()), told).toEqual(comparable(expected.store));
  }
  return calls.length;
}

describe.each(explored.map((bounds) => [bounds.name, bounds] as const))(
  "the protocol as a model: %s",
  (_, bounds) => {
    const stores = new Stores(known);
    let found: Explored | undefined;
    const exploration = (): Explored =>
      (found ??= explore(protocol(bounds), undefined, ({ store }) => stores.add(store)));

    it("explored to the end, it keeps every invariant", () => {
      const { states, transitions, violation, trace } = exploration();
      expect(violation, trace.join("\n")).toBeUndefined();
      // Numbers that fall by much say that something no longer happens in the model.
      expect(states).toBeGreaterThan(40_000);
      tried("states of the model, explored to the end", states);
      tried("transitions of the model, explored to the end", transitions);
    });

    it("in durable states that it reaches, every method of the port does in both engines what it does in the model", async () => {
      exploration();
      expect(stores.exchangeStates.size).toBeGreaterThanOrEqual(8);
      let compared = 0;
      for (const [index, store] of evenly(stores.all, chosen).entries()) {
        compared += await expectCallsAsModelled(real, store);
        if (index % sharedStride === 0) compared += await expectCallsAsModelled(shared, store);
      }
      tried("transitions of the durable state, compared with the code", compared);
    });

    it.runIf(isWhole)(
      "in durable states that it reaches, the program names the ways on that the model names",
      async () => {
        exploration();
        const some = evenly(stores.all, chosen);
        for (const store of some) expect(await differentWays(real, store)).toBeUndefined();
        tried("durable states whose ways on were compared with the code", some.length);
      },
    );
  },
);

describe("the ways on that a refusal names", () => {
  const byLot = new Stores(new Set());
  for (const bounds of allBounds)
    for (let seed = 1; seed <= 8; seed += 1)
      for (const { to } of walk(bounds, 60, seed * 7919).steps) byLot.add(to.store);

  /** Where the program names others than the model, with its table changed, in one of these states. */
  const different = async (changed?: typeof waysOn): Promise<string | undefined> => {
    for (const store of byLot.all) {
      const found = await differentWays(real, store, changed);
      if (found !== undefined) return found;
    }
    return undefined;
  };

  it("are those of the model in each durable state on long ways by lot", async () => {
    expect(await different()).toBeUndefined();
    expect(byLot.all.length).toBeGreaterThan(500);
    tried("durable states whose ways on were compared with the code", byLot.all.length);
  });

  it.each<[string, typeof waysOn]>([
    [
      "an administrator, where nobody has locked anything",
      (its, store, code) =>
        code === "" && its.guardRefuses(store) ? ["guard --reset"] : waysOn(its, store, code),
    ],
    ...(
      [
        ["get --discard-pending", "ack"],
        ["ack --saved", "ack"],
        ["ack --unread", "ack"],
        ["import", "get"],
        ["guard --reset --unanswered", "guard --reset --failed N --starts N"],
        ["get --generation N --force", "get"],
      ] as const
    ).map(([right, wrong]): [string, typeof waysOn] => [
      `${wrong} in place of ${right}`,
      (its, store, code) => waysOn(its, store, code).map((way) => (way === right ? wrong : way)),
    ]),
    ["the other order", (its, store, code) => waysOn(its, store, code).toReversed()],
  ])("a difference is found: %s", async (_, changed) => {
    expect(await different(changed)).toMatch(/^model: .*\ncode: {2}/m);
    tried("mistakes put into the model, and found", 1);
  });
});

describe("a mistake in the protocol is found", () => {
  it.each(soon(flaws).map((flaw) => [flaw.mistake, flaw] as const))("%s", (_, flaw) => {
    const { violation, trace } = explore(protocol(named(allBounds, flaw.in), flaw.parts));
    expect(violation, trace.join("\n")).toMatch(flaw.breaks);
    tried("mistakes put into the model, and found", 1);
  });
});

/** The short form explores those of them that are small. */
const held = isWhole ? holderBounds : holderBounds.filter(({ name }) => name.startsWith("held"));

describe("more than one holder of a vault's credentials, as a model", () => {
  it.each(held.map((bounds) => [bounds.name, bounds] as const))(
    "%s: explored to the end, nobody loses a vault or locks it",
    (_, bounds) => {
      const { states, transitions, violation, trace } = explore(holdersModel(bounds, asDesigned));
      expect(violation, trace.join("\n")).toBeUndefined();
      expect(states).toBeGreaterThan(5_000);
      tried("states of the model of holders, explored to the end", states);
      tried("transitions of the model of holders, explored to the end", transitions);
    },
  );

  it.each(soon(holderFlaws).map((flaw) => [flaw.mistake, flaw] as const))(
    "a mistake is found: %s",
    (_, flaw) => {
      const { violation, trace } = explore(holdersModel(named(holderBounds, flaw.in), flaw.parts));
      expect(violation, trace.join("\n")).toMatch(flaw.breaks);
      tried("mistakes put into the model of holders, and found", 1);
    },
  );
});

describe("the checker", () => {
  /** A count from 0 to 9, and from there back. */
  const counters = (bad: number | null, back = true) => ({
    initial: [0],
    steps: (n: number) =>
      [
        { label: "one more", to: n + 1, isFine: true },
        { label: "two more", to: n + 2, isFine: true },
        ...(back && n === 9 ? [{ label: "back", to: 0, isFine: true }] : []),
      ].filter(({ to }) => to < 10),
    key: String,
    violation: (n: number) => (n === bad ? `${n} is bad` : undefined),
    isGoal: (n: number) => n === 0,
  });

  it("goes through all states, and counts them", () => {
    expect(explore(counters(null))).toEqual({
      states: 10,
      transitions: 18,
      violation: undefined,
      trace: [],
    });
  });

  it("finds a bad state on the shortest way", () => {
    expect(explore(counters(4))).toMatchObject({
      violation: "4 is bad",
      trace: ["at first", "two more", "two more"],
    });
  });

  it("finds a state from which there is no way back", () => {
    expect(explore(counters(null, false))).toMatchObject({
      violation: "no way leads back into step from here",
      trace: ["at first", "one more"],
    });
  });

  it("does not call explored what is not", () => {
    expect(() => explore(counters(null), 5)).toThrow(/more than 5 states/);
  });
});
