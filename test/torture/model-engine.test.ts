import { afterAll, beforeAll, expect, it } from "vitest";
import { isWhole, tried } from "../support/campaign.ts";
import { Conformance } from "./model/conformance/conformance.ts";
import { pathsOver, viewOf, walk } from "./model/cover.ts";
import { allBounds } from "./model/protocol.ts";

let conformance: Conformance;
let shared: Conformance;
beforeAll(async () => {
  conformance = await Conformance.open("SQLite");
  shared = await Conformance.open("PostgreSQL");
});
afterAll(async () => await Promise.all([conformance.close(), shared.close()]));

/** One process, and calls that are over when they return: what the driver can bring about. */
const driven = allBounds.filter(({ lockBreaks, delays }) => !lockBreaks && !delays);
/** The short form follows the first paths of one of them, which are those near to the first state. */
const [bounds, most] = isWhole ? [driven, Number.POSITIVE_INFINITY] : [driven.slice(0, 1), 60];
const [walks, length] = isWhole ? [100, 80] : [4, 60];
/** There are tens of thousands of paths, and most with imports. */
const stride = (name: string): number => (isWhole ? (/imports|documents/.test(name) ? 30 : 10) : 1);
/** A shared state takes a hundred times as long: every so manieth is followed there, too. */
const sharedStride = isWhole ? 200 : 20;
const covered = new Set<string>();

it.each(bounds.map((each) => [each.name, each] as const))(
  "%s: every transition that the program can tell from others, taken with the real engine, is the model's",
  async (_, each) => {
    let [paths, transitions, met] = [0, 0, 0];
    for (const { from, steps, news } of pathsOver(each, viewOf, covered)) {
      met += 1;
      if (met % stride(each.name) !== 0) continue;
      await conformance.follow(from, steps);
      if (paths % sharedStride === 0) await shared.follow(from, steps);
      paths += 1;
      transitions += news;
      if (paths >= most) break;
    }
    // Of some scenes all that the program can tell from others was taken before.
    expect(covered.size).toBeGreaterThan(0);
    tried("transitions of the model, compared with the code", transitions);
    tried("paths of the real engine along the model", paths);
  },
);

it.each(driven.map((each) => [each.name, each] as const))(
  "%s: long ways by lot, from the first state on, are the model's",
  async (_, each) => {
    for (let seed = 1; seed <= walks; seed += 1) {
      const { from, steps } = walk(each, length, seed * 7919);
      await expect(conformance.follow(from, steps)).resolves.toBeUndefined();
      if (seed % 20 === 1) await expect(shared.follow(from, steps)).resolves.toBeUndefined();
      tried("steps by lot of the real engine along the model", steps.length);
    }
  },
);
