import { expect, test } from "vitest";
import { Entries } from "../../src/audit/fold/order.ts";
import { Entry } from "../../src/audit/read/item.ts";

test("entries are turned around in their place: a file that begins with the newest item takes no more memory", () => {
  const entries = new Entries();
  const entry = new Entry();
  for (let time = 0; time < 200_000; time++)
    entries.push(Object.assign(entry, { time, vault: time }));
  const before = process.memoryUsage().arrayBuffers;
  entries.reverse(1);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000);
  const found = [0, 1, 2, 199_999].map((at) => entries.get(at, new Entry()));
  expect(found).toMatchObject([0, 199_999, 199_998, 1].map((time) => ({ time, vault: time })));
});
