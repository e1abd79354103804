import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Clock } from "../../../src/exchange/ports.ts";
import { givenKey } from "../../../src/secrets/keys.ts";
import { openPlaces } from "../../../src/service/client.ts";
import type { PostgresStore } from "../../../src/store/postgres/store.ts";
import { atEndOfFile, tempDir } from "../../support/cleanup.ts";
import { openSharedHere } from "../../support/in-process.ts";
import { postgres } from "../../support/postgres.ts";
import { never } from "../../support/servers.ts";

it("one queue for machines whose clocks are hours apart, and step while they are at work", async () => {
  const location = (await postgres()).location("queue");
  let stepMs = 0;
  const machine = (shiftMs: () => number): [PostgresStore, Clock] => {
    const clock: Clock = {
      now: () => Date.now() + shiftMs(),
      elapsed: () => performance.now(),
      sleep: async (ms) => await setTimeout(ms),
    };
    const keySource = { folder: "", given: givenKey("7".repeat(64)) };
    const shared = openSharedHere(location, { keySource, clock, directory: tempDir("queue") });
    atEndOfFile(() => shared.parts.database.close());
    return [shared, clock];
  };
  const [one] = machine(() => 0);
  const [other, clock] = machine(() => 3_600_000 + stepMs);
  await one.create();
  await other.list();
  const places = openPlaces({
    rate: 2,
    clock,
    reserveSlot: async (...slot) => await other.reserveSlot("app", ...slot),
  });
  await places.admit({ kind: "generic/offline" }, never);
  stepMs = 30_000;
  await places.admit({ kind: "generic/offline" }, never, clock.elapsed() + 5000);
  stepMs = -30_000;
  await places.admit({ kind: "generic/offline" }, never, clock.elapsed() + 5000);
  await places.inTurn(never);
  const untilFree = await one.reserveSlot("app", 1000);
  expect(untilFree).toBeGreaterThan(0);
  expect(untilFree).toBeLessThan(5000);
});
