/** How many vaults are worked on together if nothing is sent: their commits share syncs. */
export const vaultsAtATime = 64;

/**
 * Does the work on each item, on up to `most` of them at a time, beginning in their order. After a failure it begins no more, and throws that
 * once all that has begun has ended.
 */
export async function eachOf<T>(
  items: Iterable<T> | AsyncIterable<T>,
  most: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  // Whoever fails ends it for the others.
  const left = (async function* () {
    yield* items;
  })();
  const go = async (): Promise<void> => {
    for await (const item of left) await work(item);
  };
  const begun = Array.from({ length: most }, go);
  const all = Promise.all(begun);
  await Promise.allSettled([all, ...begun]);
  await all;
}

/** Calls `make` at most once, and returns its value every time. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
