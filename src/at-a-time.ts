/** How many vaults are worked on together where nothing is sent: their commits share syncs. */
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
  const left =
    Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  const failures: unknown[] = [];
  const go = async (): Promise<void> => {
    while (failures.length === 0) {
      try {
        const next = await left.next();
        if (next.done === true) return;
        await work(next.value);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: most }, go));
  if (failures.length > 0) throw failures[0];
}

/** Calls `make` at most once, and returns its value every time. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
