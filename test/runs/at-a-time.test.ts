import { describe, expect, it } from "vitest";
import { eachOf } from "../../src/at-a-time.ts";

/** Work that ends when it is told to, and what of it has begun. */
function tasks() {
  const begun: number[] = [];
  const ends: PromiseWithResolvers<void>[] = [];
  const work = async (n: number): Promise<void> => {
    begun.push(n);
    await (ends[n] = Promise.withResolvers<void>()).promise;
  };
  return { begun, ends, work };
}

async function* counting(to: number) {
  for (let n = 0; n < to; n += 1) yield await Promise.resolve(n);
}

const turn = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve));

describe.each([
  ["a list", () => [0, 1, 2, 3, 4]],
  ["what is read", () => counting(5)],
])("each of %s", (_what, items) => {
  it("begins in order, so many at a time", async () => {
    const { begun, ends, work } = tasks();
    const all = eachOf(items(), 2, work);
    for (const n of [0, 1, 2, 3]) {
      await turn();
      expect(begun).toEqual([0, 1, 2, 3, 4].slice(0, n + 2));
      ends[n]?.resolve();
    }
    ends[4]?.resolve();
    await all;
  });

  it("ends with the first failure once what has begun has ended, and begins no more", async () => {
    const { begun, ends, work } = tasks();
    let isOver = false;
    const all = eachOf(items(), 3, work).finally(() => (isOver = true));
    const failed = expect(all).rejects.toThrow("first");
    await turn();
    ends[2]?.reject(new Error("first"));
    await turn();
    ends[0]?.reject(new Error("second"));
    await turn();
    expect(isOver).toBe(false);
    ends[1]?.resolve();
    await failed;
    expect(begun).toEqual([0, 1, 2]);
  });
});

it("fails where the items do", async () => {
  async function* broken() {
    yield await Promise.resolve(1);
    throw new Error("unreadable");
  }
  await expect(eachOf(broken(), 4, async () => {})).rejects.toThrow("unreadable");
});
