import type { Placed } from "../../../src/exchange/records.ts";
import type { ExchangeState } from "../../../src/exchange/states.ts";
import type { Document, Exchange, Generation, Operation, Store } from "./state.ts";
import { exchangeOf, generationOf, openOf, openStates } from "./state.ts";

/** Thrown where a step does not come from the state that the exchange is in: the transaction changes nothing. */
export class NotTaken extends Error {}

/**
 * The steps of the durable state, each one transaction: the names are those of `VaultSession`. They change the copy that
 * they are given; after `NotTaken` it is to be thrown away.
 */
export interface StoreSteps {
  recordIntent(store: Store, intent: { id: number; operation: Operation; base: number }): void;
  revertIntent(store: Store, id: number): void;
  unanswered(store: Store, id: number): void;
  /** `counts` is false for a vault that is locked or gone. */
  reject(store: Store, id: number, counts: boolean): void;
  start(
    store: Store,
    id: number,
    offered: { number: number; pair: number; limited: boolean; elsewhere: boolean },
  ): void;
  hold(store: Store, id: number, facts: { delivered: boolean; saveOwed: boolean }): void;
  ending(store: Store, id: number, delivered: boolean): void;
  endAnswered(store: Store, id: number): void;
  acknowledge(store: Store, id: number): void;
  expire(store: Store, id: number): void;
  markInDoubt(store: Store, id: number): void;
  /** `numbers` are those of generations that have to be made. */
  adopt(store: Store, document: Document, numbers: readonly [old: number, next: number]): void;
  record(store: Store, given: { number: number; pair: number }): void;
  takeOver(store: Store, attempts: Attempts): void;
  markElsewhere(store: Store, generations: readonly number[]): void;
  /** To what an audit log shows; to nothing; or without what unanswered starts have counted. */
  resetCounters(store: Store, to: "all" | "unanswered" | Pick<Store, "failed" | "unacked">): void;
}

/** What travels with credentials that have no state of their own. */
export interface Attempts {
  unacked: number;
  unanswered: number;
  quiet: number;
  failed: number;
  possibly: number;
  refused: readonly number[];
}

function inState(store: Store, id: number, from: readonly ExchangeState[]): Exchange {
  const exchange = exchangeOf(store, id);
  if (exchange === undefined || !from.includes(exchange.state)) throw new NotTaken();
  return exchange;
}

type Counts = Partial<Record<"unacked" | "unanswered" | "quiet" | "failed" | "possibly", number>>;

function count(store: Store, by: Counts): void {
  for (const [what, more] of Object.entries(by) as [keyof Counts, number][])
    store[what] = Math.max(0, store[what] + more);
}

/** A start that may still get no answer counts one start, and with other than sole credentials a possible failure. */
const unansweredStart = ({ countedFailed }: Exchange, by: 1 | -1): Counts => ({
  unacked: by,
  unanswered: by,
  ...(countedFailed === 1 ? { failed: by, possibly: by } : { quiet: by }),
});

/** Takes back what ① has counted, unless it was zeroed since. */
function takeBack(store: Store, exchange: Exchange): void {
  if (exchange.countedStart === 1) count(store, unansweredStart(exchange, -1));
  Object.assign(exchange, { countedStart: 0, countedFailed: 0 });
}

/** Nobody else can have made them stale: made and proven here, known nowhere else, followed by none, and nothing was refused since. */
export function isSole(store: Store, number: number): boolean {
  const generation = generationOf(store, number);
  return (
    generation?.proven === true && !generation.elsewhere && !generation.ended && !store.refusedSince
  );
}

/** The service has acknowledged an exchange: only starts after it count. */
function zeroStarts(store: Store, acknowledged: Exchange): void {
  const since = store.exchanges
    .slice(store.exchanges.indexOf(acknowledged) + 1)
    .filter((e) => e.countedStart === 1);
  settleCounted(store.exchanges.filter((e) => !since.includes(e)));
  Object.assign(store, {
    unacked: since.length,
    unanswered: Math.min(store.unanswered, since.filter((e) => e.state === "intent").length),
  });
}

/** The start that an unanswered one may have failed like. */
const isQuiet = ({ state, countedStart, countedFailed }: Exchange): boolean =>
  state === "intent" && countedStart === 1 && countedFailed === 0;

/** A start was refused: so may have been those with the same credentials that got no answer. */
function countRefusal(store: Store, base: number): void {
  const same = store.exchanges.filter((e) => isQuiet(e) && e.base === base);
  for (const each of same) each.countedFailed = 1;
  count(store, { failed: 1 + same.length, possibly: same.length, quiet: -same.length });
  store.refusedSince = true;
}

/** How many superseded pairs are kept. */
const keptSuperseded = 5;

function makeCurrent(store: Store, number: number | null): void {
  const current = generationOf(store, number);
  if (current !== undefined)
    Object.assign(current, {
      standing: "current",
      proven: true,
      refused: false,
      placed: null,
      ended: false,
    });
  const old = store.generations
    .filter((g) => g.standing === "superseded")
    .slice(0, -keptSuperseded);
  if (old.length > 0) store.generations = store.generations.filter((g) => !old.includes(g));
}

/** A pair was refused: an exchange that it had begun may have been acknowledged by somebody else. */
function doubtOfferedBy(store: Store, base: number): void {
  const left =
    openOf(store) ??
    store.exchanges.findLast(
      (e) =>
        e.state === "expired" &&
        e.base === base &&
        generationOf(store, e.next)?.standing === "void",
    );
  if (left?.base !== base || left.state === "ending") return;
  left.state = "in-doubt";
  const next = generationOf(store, left.next);
  if (next?.standing === "void") next.standing = "offered";
}

/** A pair that was refused may be the valid one since. */
function forgetRefusal(store: Store, generation: Generation): void {
  store.refused = store.refused.filter((refused) => refused !== generation.pair);
  for (const each of store.generations) if (each.pair === generation.pair) each.refused = false;
}

/** What these starts have counted can no longer be taken back. */
function settleCounted(exchanges: readonly Exchange[]): void {
  for (const each of exchanges) Object.assign(each, { countedStart: 0, countedFailed: 0 });
}

const live: readonly string[] = ["current", "imported", "offered"];
export const liveWith = (store: Store, pair: number): Generation | undefined =>
  store.generations.findLast((g) => g.pair === pair && live.includes(g.standing));
export const isSuperseded = (store: Store, pair: number): boolean =>
  liveWith(store, pair) === undefined &&
  store.generations.some((g) => g.pair === pair && g.standing === "superseded");

/** The generation of a given pair: the live one that it is recorded as, or a new one. */
function ensure(store: Store, number: number, pair: number, placed: Placed | null): number {
  const known = liveWith(store, pair);
  if (known !== undefined) {
    known.elsewhere = true;
    return known.number;
  }
  if (isSuperseded(store, pair)) throw new NotTaken();
  store.generations.push({
    number,
    pair,
    standing: "imported",
    proven: false,
    elsewhere: true,
    refused: false,
    placed,
    ended: false,
  });
  return number;
}

export const storeSteps: StoreSteps = {
  recordIntent(store, { id, operation, base }) {
    if (exchangeOf(store, id) !== undefined || generationOf(store, base) === undefined)
      throw new NotTaken();
    const nothing = {
      next: null,
      delivered: false,
      saveOwed: false,
      ends: 0,
      limited: false,
      adopted: false,
      seen: false,
      arrived: false,
    };
    const exchange: Exchange = {
      id,
      operation,
      state: "intent",
      base,
      countedStart: 1,
      countedFailed: isSole(store, base) ? 0 : 1,
      ...nothing,
    };
    store.exchanges.push(exchange);
    count(store, unansweredStart(exchange, 1));
  },
  revertIntent(store, id) {
    const exchange = inState(store, id, ["intent"]);
    takeBack(store, exchange);
    exchange.state = "discarded";
  },
  unanswered(store, id) {
    inState(store, id, ["intent"]);
  },
  reject(store, id, counts) {
    const exchange = inState(store, id, ["intent"]);
    takeBack(store, exchange);
    exchange.state = "rejected";
    if (!counts) return;
    countRefusal(store, exchange.base);
    const base = generationOf(store, exchange.base);
    if (base !== undefined) {
      base.refused = true;
      if (!store.refused.includes(base.pair)) store.refused.push(base.pair);
    }
    doubtOfferedBy(store, exchange.base);
  },
  start(store, id, { number, pair, limited, elsewhere }) {
    const exchange = inState(store, id, ["intent"]);
    const base = generationOf(store, exchange.base);
    if (base === undefined) throw new NotTaken();
    takeBack(store, exchange);
    // Where the credentials are those of an exchange, its acknowledgement has arrived.
    const arrived = store.exchanges.find(
      (e) => e.next === exchange.base && e.state !== "acknowledged",
    );
    if (arrived !== undefined) zeroStarts(store, arrived);
    for (const left of store.exchanges) {
      if (left.id === id || !(left.state === "intent" || openStates.includes(left.state))) continue;
      const mayHaveArrived = left.state === "in-doubt" || left.ends > 0;
      if (mayHaveArrived && left.next === exchange.base) left.state = "acknowledged";
      else if (mayHaveArrived && left.base === exchange.base) left.state = "expired";
      else left.state = "discarded";
    }
    for (const each of store.generations)
      if (each.number !== exchange.base) each.standing = "superseded";
    makeCurrent(store, exchange.base);
    const facts = {
      standing: "offered",
      proven: false,
      elsewhere,
      refused: false,
      placed: null,
      ended: false,
    } as const;
    store.generations.push({ number, pair, ...facts });
    Object.assign(exchange, { state: "started", next: number, limited, countedStart: 1 });
    count(store, { unacked: 1 });
    Object.assign(store, {
      failed: 0,
      possibly: 0,
      quiet: 0,
      refusedSince: false,
      limited,
      proof: pair,
    });
    store.refused = store.refused.filter((refused) => refused !== base.pair);
  },
  hold(store, id, { delivered, saveOwed }) {
    const exchange = inState(store, id, ["started", "held"]);
    Object.assign(exchange, {
      state: "held",
      delivered: exchange.delivered || delivered,
      saveOwed,
    });
  },
  ending(store, id, delivered) {
    const exchange = inState(store, id, ["started", "held", "ending"]);
    Object.assign(exchange, {
      state: "ending",
      ends: exchange.ends + 1,
      delivered: exchange.delivered || delivered,
    });
    const base = generationOf(store, exchange.base);
    if (base !== undefined) base.ended = true;
  },
  endAnswered(store, id) {
    const exchange = inState(store, id, ["ending"]);
    exchange.ends = Math.max(0, exchange.ends - 1);
  },
  acknowledge(store, id) {
    const exchange = inState(store, id, ["ending"]);
    exchange.state = "acknowledged";
    const [next, base] = [generationOf(store, exchange.next), generationOf(store, exchange.base)];
    if (exchange.adopted) {
      if (next?.standing === "imported") next.placed ??= "successor";
      // The service has moved on from it, now or before.
      if (base?.standing === "imported") base.placed ??= "older";
      return;
    }
    if (base !== undefined) base.standing = "superseded";
    makeCurrent(store, exchange.next);
    if (next !== undefined) forgetRefusal(store, next);
    // Its token was alive, so no start since was answered by the service: none with its old credentials has failed either.
    for (const each of store.exchanges.slice(store.exchanges.indexOf(exchange) + 1)) {
      if (each.state !== "intent" || each.base !== exchange.base) continue;
      const possibly = Math.min(each.countedFailed, store.possibly);
      count(store, { failed: -possibly, possibly: -possibly });
      each.countedFailed = 0;
    }
    zeroStarts(store, exchange);
  },
  expire(store, id) {
    const exchange = inState(store, id, ["ending", "in-doubt"]);
    const next = generationOf(store, exchange.next);
    if (next !== undefined) next.standing = "void";
    exchange.state = "expired";
  },
  markInDoubt(store, id) {
    inState(store, id, ["ending"]).state = "in-doubt";
  },
  adopt(store, document, [old, next]) {
    const known = exchangeOf(store, document.exchange);
    if (known !== undefined && openStates.includes(known.state)) return;
    const given = liveWith(store, document.new);
    if (given !== undefined && (given.proven || given.standing !== "imported")) return;
    const isProven = store.generations.some((g) => g.proven && g.standing === "current");
    const [isOldDead, isNewDead] = [
      isSuperseded(store, document.old),
      isSuperseded(store, document.new),
    ];
    const isFollowed = isProven && (isNewDead || (isOldDead && given === undefined));
    if (isFollowed || (isOldDead && isNewDead)) throw new NotTaken();
    if (known !== undefined) {
      // Dropped here; who imports it says that it may have been acknowledged elsewhere.
      const dropped = generationOf(store, known.next);
      if (dropped?.standing === "void") dropped.standing = "imported";
      return;
    }
    const isOlder = store.proof !== null && document.new < store.proof;
    const placed = isOlder
      ? "older"
      : liveWith(store, document.old)?.standing === "current"
        ? "successor"
        : null;
    const base = isOldDead ? null : ensure(store, old, document.old, isOlder ? "older" : null);
    const offered = isNewDead ? null : ensure(store, next, document.new, placed);
    // Where one of its pairs is superseded, the end call was answered to somebody, or never will be.
    if (base === null || offered === null || openOf(store) !== undefined) return;
    store.exchanges.push({
      id: document.exchange,
      operation: document.operation,
      state: document.unread ? "held" : "ending",
      base,
      next: offered,
      delivered: false,
      saveOwed: false,
      ends: Number(!document.unread),
      limited: document.unread,
      countedStart: 1,
      countedFailed: 0,
      adopted: true,
      seen: false,
      arrived: true,
    });
    store.unacked += 1;
  },
  record(store, { number, pair }) {
    const known = liveWith(store, pair);
    ensure(store, number, pair, null);
    if (known !== undefined) forgetRefusal(store, known);
  },
  takeOver(store, { unacked, unanswered, quiet, failed, possibly, refused }) {
    const answered = Math.max(store.unacked - store.unanswered, unacked - unanswered);
    const definite = Math.max(store.failed - store.possibly, failed - possibly);
    store.unacked = Math.max(store.unacked, unacked);
    store.unanswered = store.unacked - answered;
    store.quiet = Math.max(store.quiet, quiet);
    store.failed = Math.max(store.failed, failed);
    store.possibly = store.failed - definite;
    for (const pair of refused) if (!store.refused.includes(pair)) store.refused.push(pair);
  },
  markElsewhere(store, generations) {
    for (const each of store.generations)
      if (generations.includes(each.number)) each.elsewhere = true;
  },
  resetCounters(store, to) {
    // Those that wait for an outcome, the newest first: what was shown to have arrived before is none of them.
    const open = store.exchanges
      .filter((e) => e.state === "intent" && e.countedStart === 1)
      .toReversed();
    if (to === "unanswered") {
      settleCounted(open.slice(0, store.unanswered));
      count(store, { unacked: -store.unanswered, failed: -store.possibly });
    } else {
      Object.assign(store, to === "all" ? { unacked: 0, failed: 0 } : to);
      // As many as the audit log shows, the last ones, stay counted where an exchange before them turns out to be acknowledged.
      const kept = store.exchanges
        .filter((e) => e.countedStart === 1)
        .slice(-store.unacked || Number.POSITIVE_INFINITY);
      settleCounted(open.filter((e) => !kept.includes(e)));
    }
    Object.assign(store, { unanswered: 0, quiet: 0, possibly: 0 });
  },
};
