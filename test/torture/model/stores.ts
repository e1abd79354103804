import type { Store } from "./state.ts";

/** Stores that differ, out of the states of a model, and from those of models before. */
export class Stores {
  readonly all: Store[] = [];
  readonly exchangeStates = new Set<string>();
  readonly #known: Set<string>;

  constructor(known: Set<string>) {
    this.#known = known;
  }

  add(store: Store): void {
    for (const { state } of store.exchanges) this.exchangeStates.add(state);
    const key = keyOf(store);
    if (!this.#known.has(key)) this.all.push(store);
    this.#known.add(key);
  }
}

/** By places in place of numbers. */
function keyOf(store: Store): string {
  const place = (number: number | null): number =>
    store.generations.findIndex((generation) => generation.number === number);
  let key = `${store.unacked} ${store.failed} ${store.possibly} ${store.unanswered} ${store.quiet} ${store.refusedSince}${store.limited}${store.proof === null}`;
  for (const { pair, standing, proven, elsewhere, refused, placed, ended } of store.generations)
    key += `,${standing}${proven}${elsewhere}${refused}${placed}${ended}${store.refused.includes(pair)}`;
  for (const {
    state,
    operation,
    base,
    next,
    delivered,
    saveOwed,
    ends,
    limited,
    countedStart,
    countedFailed,
    adopted,
  } of store.exchanges)
    key += `;${state}${operation}${place(base)}${place(next)}${delivered}${saveOwed}${limited}${adopted} ${ends}${countedStart}${countedFailed}`;
  return key;
}

/** A store without numbers: two of them are the same, if these are equal. */
export function comparable(store: Store): unknown {
  const place = (number: number | null): number | null =>
    number === null
      ? null
      : store.generations.findIndex((generation) => generation.number === number);
  const pairs = [...new Set(store.generations.map(({ pair }) => pair))];
  const { breaker: _breaker, ...rest } = store;
  return {
    ...rest,
    generations: store.generations.map(({ number: _number, pair, ...rest }) => ({
      ...rest,
      pair: pairs.indexOf(pair),
    })),
    proof: store.proof === null ? null : "known",
    refused: store.refused
      .map((pair) => pairs.indexOf(pair))
      .filter((index) => index >= 0)
      .sort(),
    // What is true of them is not in the state.
    exchanges: store.exchanges.map(
      ({ id: _id, seen: _seen, arrived: _arrived, base, next, ...rest }) => ({
        ...rest,
        base: place(base),
        next: place(next),
      }),
    ),
  };
}
