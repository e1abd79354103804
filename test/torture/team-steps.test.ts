import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { isWhole, tried } from "../support/campaign.ts";
import { closeConnections } from "../support/shared-state.ts";
import { TeamWorld } from "./team/world.ts";

const [worlds, steps] = isWhole ? [150, 150] : [4, 100];

beforeEach(() => {
  // The clocks of these processes stand still: a lease is renewed where it is looked at.
  vi.spyOn(globalThis, "setInterval").mockReturnValue({
    unref: () => null,
  } as unknown as NodeJS.Timeout);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await closeConnections();
});

describe("three processes on one vault, each stopped before everything that others could see of it", () => {
  it.each([
    [
      "leases end at any time, processes come back or die, answers of the database and of the service get lost",
      false,
    ],
    ["and the rows go back to what they were some commits ago, as after a failover", true],
  ])("%s", async (_, hasFailovers) => {
    for (let seed = 1; seed <= worlds / (hasFailovers ? 2 : 1); seed += 1) {
      const world = await TeamWorld.open(`steps ${seed}`, hasFailovers);
      for (let n = 0; n < steps && world.violations.length === 0; n += 1) await world.happen();
      const last = await world.settle();
      expect({ last, violations: world.violations }, world.told()).toEqual({
        last: "ok",
        violations: [],
      });
      await world.close();
      tried("steps of processes that share a vault", steps);
    }
  });
});
