import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Clock } from "../../../src/exchange/ports.ts";
import { parseGivenKey } from "../../../src/secrets/key-source.ts";
import type { PostgresStore } from "../../../src/store/postgres/store.ts";
import { atEndOfFile, tempDir } from "../../support/cleanup.ts";
import { openSharedHere } from "../../support/in-process.ts";
import { postgres } from "../../support/postgres.ts";

it("one queue for machines whose clocks are hours apart, and for a process that waited long for the processor when it asked for the time", async () => {
  const location = (await postgres()).location("queue");
  const on = (clock: Clock): PostgresStore => {
    const keySource = { type: "given", key: parseGivenKey("7".repeat(64)) } as const;
    const shared = openSharedHere({ location, keySource, clock, directory: tempDir("queue") });
    atEndOfFile(() => shared.close());
    return shared;
  };
  const sleep = async (ms: number): Promise<void> => await setTimeout(ms);
  const first: Clock = { now: () => Date.now(), elapsed: () => performance.now(), sleep };
  let waited = 0;
  const second: Clock = {
    now: () => Date.now() + 3_600_000,
    // Between its first look at the clock and its question to the database is most of a second.
    elapsed: () => performance.now() - (waited === 0 ? (waited = 900) : 0),
    sleep,
  };
  const [one, other] = [on(first), on(second)];
  await one.create();
  await other.list();
  const slots: number[] = [];
  for (const [store, clock] of [
    [one, first],
    [other, second],
    [one, first],
  ] as const) {
    const now = clock.now();
    slots.push(
      now - (clock === second ? 3_600_000 : 0) + (await store.reserveSlot("app", now, 10_000)),
    );
  }
  const gaps = slots.slice(1).map((slot, n) => slot - (slots[n] ?? 0));
  for (const gap of gaps) expect(Math.abs(gap - 10_000)).toBeLessThan(300);
});
