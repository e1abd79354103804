import type { ExchangeState } from "../../../src/exchange/states.ts";
import type { Exchange, Operation, Store } from "./state.ts";
import { exchangeOf, generationOf, openStates } from "./state.ts";

/** Raised where a step does not come from the state that the exchange is in: the transaction changes nothing. */
export class NotTaken extends Error {}

/**
 * The steps of the durable state, each one transaction: the names are those of `VaultSession`. They change the copy that
 * they are given; after `NotTaken` it is to be thrown away.
 */
export interface StoreSteps {
  intend(store: Store, intent: { id: number; operation: Operation; base: number; countsAsFailed: boolean }): void;
  takeBack(store: Store, id: number): void;
  unanswered(store: Store, id: number): void;
  /** `counts` is false for a vault that is locked or gone. */
  reject(store: Store, id: number, counts: boolean): void;
  start(store: Store, id: number, offered: { number: number; pair: number; limited: boolean }): void;
  hold(store: Store, id: number, facts: { delivered: boolean; saveOwed: boolean }): void;
  ending(store: Store, id: number, delivered: boolean): void;
  endAnswered(store: Store, id: number): void;
  acknowledge(store: Store, id: number): void;
  expire(store: Store, id: number): void;
  doubt(store: Store, id: number): void;
  record(store: Store, given: { number: number; pair: number }): void;
  resetCounters(store: Store): void;
}

function inState(store: Store, id: number, from: readonly ExchangeState[]): Exchange {
  const exchange = exchangeOf(store, id);
  if (exchange === undefined || !from.includes(exchange.state)) throw new NotTaken();
  return exchange;
}

function count(store: Store, starts: number, failed: number): void {
  store.unacked = Math.max(0, store.unacked + starts);
  store.failed = Math.max(0, store.failed + failed);
}

/** How many superseded pairs are kept. */
const keptSuperseded = 5;

/** The service has accepted it: every other pair is dead. */
function makeCurrent(store: Store, number: number | null): void {
  for (const each of store.generations) {
    each.standing = each.number === number ? "current" : "superseded";
    each.proven ||= each.number === number;
  }
  const old = store.generations.filter((g) => g.standing === "superseded").slice(0, -keptSuperseded);
  store.generations = store.generations.filter((g) => !old.includes(g));
}

/** What was counted for starts of before can no longer be taken back. */
function settleCounted(store: Store): void {
  for (const exchange of store.exchanges) if (exchange.state === "intent") Object.assign(exchange, { countedStart: 0, countedFailed: 0 });
}

export const storeSteps: StoreSteps = {
  intend(store, { id, operation, base, countsAsFailed }) {
    if (exchangeOf(store, id) !== undefined || generationOf(store, base) === undefined) throw new NotTaken();
    const countedFailed = Number(countsAsFailed);
    const nothing = { next: null, delivered: false, saveOwed: false, ends: 0, limited: false, seen: false };
    store.exchanges.push({ id, operation, state: "intent", base, countedStart: 1, countedFailed, ...nothing });
    count(store, 1, countedFailed);
  },
  takeBack(store, id) {
    const exchange = inState(store, id, ["intent"]);
    count(store, -exchange.countedStart, -exchange.countedFailed);
    exchange.state = "discarded";
  },
  unanswered(store, id) {
    inState(store, id, ["intent"]);
  },
  reject(store, id, counts) {
    const exchange = inState(store, id, ["intent"]);
    exchange.state = "rejected";
    const pair = generationOf(store, exchange.base)?.pair;
    if (!counts) return;
    count(store, 0, 1 - exchange.countedFailed);
    if (pair !== undefined && !store.refused.includes(pair)) store.refused.push(pair);
  },
  start(store, id, { number, pair, limited }) {
    const exchange = inState(store, id, ["intent"]);
    const base = generationOf(store, exchange.base);
    if (base === undefined) throw new NotTaken();
    for (const left of store.exchanges) {
      if (left.id === id) continue;
      if (left.state === "in-doubt") left.state = left.next === exchange.base ? "acknowledged" : "expired";
      else if (left.state === "intent" || openStates.includes(left.state)) left.state = "discarded";
    }
    makeCurrent(store, exchange.base);
    store.generations.push({ number, pair, standing: "offered", proven: false });
    Object.assign(exchange, { state: "started", next: number, limited });
    store.failed = 0;
    store.limited = limited;
    store.refused = store.refused.filter((refused) => refused !== base.pair);
  },
  hold(store, id, { delivered, saveOwed }) {
    const exchange = inState(store, id, ["started", "held"]);
    Object.assign(exchange, { state: "held", delivered: exchange.delivered || delivered, saveOwed });
  },
  ending(store, id, delivered) {
    const exchange = inState(store, id, ["started", "held", "ending"]);
    Object.assign(exchange, { state: "ending", ends: exchange.ends + 1, delivered: exchange.delivered || delivered });
  },
  endAnswered(store, id) {
    const exchange = inState(store, id, ["ending"]);
    exchange.ends = Math.max(0, exchange.ends - 1);
  },
  acknowledge(store, id) {
    const exchange = inState(store, id, ["ending"]);
    makeCurrent(store, exchange.next);
    store.unacked = 0;
    settleCounted(store);
    exchange.state = "acknowledged";
  },
  expire(store, id) {
    const exchange = inState(store, id, ["ending", "in-doubt"]);
    const [next, base] = [generationOf(store, exchange.next), generationOf(store, exchange.base)];
    if (next !== undefined) next.standing = "void";
    if (base !== undefined) base.standing = "current";
    exchange.state = "expired";
  },
  doubt(store, id) {
    inState(store, id, ["ending"]).state = "in-doubt";
  },
  record(store, { number, pair }) {
    const same = store.generations.filter((g) => g.pair === pair);
    if (same.some((g) => ["current", "imported", "offered"].includes(g.standing))) return;
    if (same.some((g) => g.standing === "superseded")) throw new NotTaken();
    store.generations.push({ number, pair, standing: "imported", proven: false });
  },
  resetCounters(store) {
    Object.assign(store, { unacked: 0, failed: 0 });
    settleCounted(store);
  },
};
