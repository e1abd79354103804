import { expect, test } from "vitest";
import { TimeOrder } from "../../src/audit/fold/order.ts";
import { Entry } from "../../src/audit/read/item.ts";

test("a file that begins with the newest item is turned around in little memory, also items of one time", () => {
  const passed: number[] = [];
  const order = new TimeOrder(
    () => undefined,
    ({ time, vault }) => void (vault % 50_000 < 2 && passed.push(time, vault)),
    true,
  );
  const entry = new Entry();
  order.begin(true);
  for (let vault = 0; vault < 200_000; vault++)
    order.push(Object.assign(entry, { time: 200_000 - (vault & ~1), vault }));
  order.end();
  const before = process.memoryUsage().arrayBuffers;
  order.release();
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000);
  const pairs = [150_000, 100_000, 50_000, 0].map((vault) => [200_000 - vault, vault] as const);
  expect(passed).toEqual(pairs.flatMap(([time, vault]) => [time, vault + 1, time, vault]));
});
