import { expect, it } from "vitest";
import { DatabaseClock } from "../../../src/store/postgres/database-clock.ts";
import { postgres } from "../../support/postgres.ts";
import { sharedState } from "../../support/shared-state.ts";

it("knows how long an answer takes from the login, then from the fastest answer, and leaves out what is negligible", () => {
  const time = new DatabaseClock({
    now: () => 0,
    elapsed: () => 0,
    sleep: async () => Promise.resolve(),
  });
  expect(time.latencyMs()).toBe(0);
  time.tookLogin(50);
  expect(time.latencyMs()).toBe(50);
  time.took(70);
  time.took(60);
  time.took(80);
  expect(time.latencyMs()).toBe(60);
  time.took(9);
  expect(time.latencyMs()).toBe(0);
});

it("is that of the database in the queue of the rate limit, also before its first answer", async () => {
  const { port } = await postgres();
  const state = await sharedState();
  // A machine whose clock is days away.
  const machine = () => state.through(port, undefined, new DatabaseClock(state.clock));
  const [one, two] = [machine(), machine()];
  const now = state.clock.now();
  const within = async (slot: Promise<number>, least: number, most: number): Promise<void> => {
    const wait = await slot;
    expect(wait).toBeGreaterThan(least);
    expect(wait).toBeLessThanOrEqual(most);
  };
  await within(one.reserveSlot("app", now, 100_000), -1, 0);
  await within(two.reserveSlot("app", now, 100_000), 0, 100_000);
  await within(two.reserveSlot("app", now, 100_000, 50_000), 100_000, 200_000);
  await two.list();
  await within(two.reserveSlot("app", now, 100_000, 50_000), 100_000, 200_000);
  await within(two.reserveSlot("app", now + 50_000, 100_000), 50_000, 150_000);
  state.dispose();
});
