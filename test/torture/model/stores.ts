import { keyOf } from "./keys.ts";
import { protocol } from "./protocol.ts";
import type { State, Store } from "./state.ts";
import type { Bounds } from "./world.ts";

/** Every state of the store that the model reaches: with whatever the service and the processes are at. */
export function storesOf(bounds: Bounds): Store[] {
  const model = protocol(bounds);
  const known = new Set(model.initial.map(model.key));
  const stores = new Map<string, Store>();
  let layer = [...model.initial];
  while (layer.length > 0) {
    const next: State[] = [];
    for (const state of layer) {
      const key = JSON.stringify(comparable(state.store));
      if (!stores.has(key)) stores.set(key, state.store);
      for (const { to } of model.steps(state)) {
        const key = keyOf(to);
        if (known.has(key)) continue;
        known.add(key);
        next.push(to);
      }
    }
    layer = next;
  }
  return [...stores.values()];
}

/** A store with places in place of numbers: two of them are the same, if these are. */
export function comparable(store: Store): unknown {
  const place = (number: number | null): number | null =>
    number === null ? null : store.generations.findIndex((generation) => generation.number === number);
  const pairs = [...new Set(store.generations.map(({ pair }) => pair))];
  return {
    ...store,
    generations: store.generations.map(({ pair, standing, proven }) => [pairs.indexOf(pair), standing, proven]),
    refused: store.refused
      .map((pair) => pairs.indexOf(pair))
      .filter((index) => index >= 0)
      .sort(),
    exchanges: store.exchanges.map(({ id: _id, base, next, ...rest }) => ({ ...rest, base: place(base), next: place(next) })),
  };
}
