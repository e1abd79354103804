import { describe, expect, it } from "vitest";
import { isWhole } from "./effort.ts";
import { explore } from "./model/checker.ts";
import { flaws } from "./model/flaws.ts";
import { allBounds, protocol } from "./model/protocol.ts";
import type { Bounds } from "./model/world.ts";
import { tried } from "./tally.ts";

const named = (name: string): Bounds => {
  const found = allBounds.find((bounds) => bounds.name === name);
  if (found === undefined) throw new Error(`no bounds are called ${name}`);
  return found;
};

/** The short form explores the first one, which is the smallest, and looks for some of the mistakes. */
const explored = isWhole ? allBounds : allBounds.slice(0, 1);
const found = isWhole ? flaws : flaws.filter(({ in: name }, index) => name === allBounds[0]?.name && index % 3 === 0);

describe("the protocol as a model, explored to the end, keeps every invariant of DESIGN", () => {
  it.each(explored.map((bounds) => [bounds.name, bounds] as const))("%s", (_, bounds) => {
    const { states, transitions, violation, trace } = explore(protocol(bounds));
    expect(violation, trace.join("\n")).toBeUndefined();
    // Numbers that fall by much say that something no longer happens in the model.
    expect(states).toBeGreaterThan(40_000);
    tried("states of the model, explored to the end", states);
    tried("transitions of the model, explored to the end", transitions);
  });
});

describe("a mistake in the protocol is found", () => {
  it.each(found.map((flaw) => [flaw.mistake, flaw] as const))("%s", (_, flaw) => {
    const { violation, trace } = explore(protocol(named(flaw.in), flaw.parts));
    expect(violation, trace.join("\n")).toMatch(flaw.breaks);
    tried("mistakes put into the model, and found", 1);
  });
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
    isExempt: () => false,
  });

  it("goes through all states, and counts them", () => {
    expect(explore(counters(null))).toEqual({ states: 10, transitions: 18, violation: undefined, trace: [] });
  });

  it("finds a bad state on the shortest way", () => {
    expect(explore(counters(4))).toMatchObject({ violation: "4 is bad", trace: ["at first", "two more", "two more"] });
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
