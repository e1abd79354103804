import { setTimeout } from "node:timers/promises";
import type { Clock } from "../../src/exchange/ports.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import {
  exchange,
  intent,
  pair,
  patient,
  service,
  started,
  uuid,
} from "../contract/store-fixture.ts";

/** Uses a state in a process of its own: `node child.ts ACTION DIRECTORY KEYFILE [COUNT]`. Prints one line of JSON. */
const [action = "", directory = "", path = "", count = "1"] = process.argv.slice(2);

const clock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: async (milliseconds, signal) =>
    await setTimeout(milliseconds, undefined, signal === undefined ? {} : { signal }),
};
const store = openStore({
  directory,
  keySource: { type: "file", path },
  clock,
  platform: process.platform,
  warn: () => undefined,
});

const print = (value: unknown): boolean => process.stdout.write(`${JSON.stringify(value)}\n`);

const actions: Record<string, () => Promise<void>> = {
  /** Locks the vault until it is killed. */
  hold: async () => {
    await store.lock(service, uuid, patient(clock));
    print("held");
    await setTimeout(60_000);
  },
  /** Imports a pair into a vault of its own. */
  import: async () => {
    const session = await store.lock(service, uuid.replace(/1$/, count), patient(clock, 20_000));
    print(
      await session.recordPair({ credentials: pair(`pair-${count}`), kind: "generic/offline" }),
    );
  },
  /** Runs whole exchanges as `get` does, and exits as the program does. */
  get: async () => {
    for (let n = 0; n < Number(count); n += 1) {
      await store.find(uuid);
      const session = await store.lock(service, uuid, patient(clock, 20_000));
      const base = (await session.read())?.generations[0]?.generation ?? 0;
      await store.reserveSlot("app", clock.now(), 0.001);
      await session.read();
      await store.reserveSlot("app", clock.now(), 0.001);
      await exchange(session, `x-${process.pid}-${n}`, base, `pair-${process.pid}-${n}`);
      await session.read();
      await session.release();
    }
    print("done");
  },
  /** Reserves slots and prints their times. */
  slots: async () => {
    const slots: number[] = [];
    for (let n = 0; n < Number(count); n += 1) {
      const now = clock.now();
      slots.push(now + (await store.reserveSlot("app", now, 10)));
    }
    print(slots);
  },
  /** Starts exchanges until the state cannot be written; prints the last one that was reported durable. */
  fill: async () => {
    const session = await store.lock(service, uuid, patient(clock));
    let durable = 0;
    try {
      for (;;) {
        await session.recordIntent(
          intent(`x${durable + 1}`, (await session.read())?.generations.at(-1)?.generation ?? 0),
        );
        await session.recordStarted(
          `x${durable + 1}`,
          started(`pair-${durable + 1}-${"x".repeat(2000)}`),
        );
        durable += 1;
      }
    } catch (error) {
      print({ durable, error });
    }
  },
};

await actions[action]?.();
process.exit();
