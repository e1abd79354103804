import type { Counts, Document, Exchange, Generation, Operation, Placed, Store } from "./state.ts";
import { copyStore, exchangeOf, generationOf, openOf, openStates } from "./state.ts";

/** Thrown where a step does not come from the state that the exchange is in: the transaction changes nothing. */
export class NotTaken extends Error {}

/**
 * The steps of the durable state (docs/design.md, The exchange), each one transaction: they change the copy that they are given,
 * which is to be thrown away after `NotTaken`. Nothing here is taken from the program, which has other names for them;
 * conformance/calls.ts says which of its calls is which step, and compares what both make of every durable state.
 */
export interface StoreSteps {
  /** ① */
  intent(store: Store, intent: { id: number; operation: Operation; base: number }): void;
  /** No exchange was opened, and nothing was refused. */
  takenBack(store: Store, id: number): void;
  /** `isSuccess`: it says SUCCESS, and has no credentials. */
  noWholeAnswer(store: Store, id: number, isSuccess: boolean): void;
  /** `counts` is false for a vault that is locked or gone. */
  refused(store: Store, id: number, counts: boolean): void;
  /** ② */
  started(
    store: Store,
    id: number,
    offered: { number: number; pair: number; limited: boolean; elsewhere: boolean },
  ): void;
  held(store: Store, id: number, facts: { delivered: boolean; saveOwed: boolean }): void;
  /** ③ */
  ending(store: Store, id: number, delivered: boolean): void;
  /** ④ */
  acknowledged(store: Store, id: number): void;
  endSettlesNothing(store: Store, id: number): void;
  expired(store: Store, id: number): void;
  inDoubt(store: Store, id: number): void;
  /** `isSentWithOther`: with another hashedPin or device than the one that is stored with the pair. */
  importPair(
    store: Store,
    given: { number: number; pair: number; isSentWithOther?: boolean },
  ): void;
  /** `numbers` are those of generations that have to be made. */
  importDocument(
    store: Store,
    document: Document,
    numbers: readonly [old: number, next: number],
  ): void;
  wentElsewhere(store: Store, generations: readonly number[]): void;
  /** To what an audit log shows; to nothing; or without what unanswered starts have counted. */
  guardReset(store: Store, to: "all" | "unanswered" | Pick<Counts, "failed" | "unacked">): void;
}

// Counting toward lockout

/** What counts of a store, or of some of its exchanges, in the order in which all were begun: the table. */
export function counted(
  store: Store,
  isMeant: (exchange: Exchange) => boolean = () => true,
): Counts & { refusedSince: boolean } {
  const { exchanges, carried, upTo } = store;
  const at = exchanges.findIndex(({ id }) => id === upTo);
  let [ended, accepted] = [-1, -1];
  for (const [place, each] of exchanges.entries()) {
    if (each.adopted) continue;
    // "by its ④, or by a SUCCESS to a start with its new pair"
    if (each.state === "acknowledged") ended = Math.max(ended, place);
    if (each.outcome !== "success") continue;
    accepted = place;
    const shown = exchanges.findLastIndex(({ next, adopted }) => next === each.base && !adopted);
    ended = Math.max(ended, shown);
  }
  const counts = { unacked: 0, unanswered: 0, failed: 0, possibly: 0 };
  const add = (what: Counts | null, names: readonly (keyof Counts)[]): void => {
    for (const name of names) counts[name] += what?.[name] ?? 0;
  };
  if (at >= ended) add(carried, ["unacked", "unanswered"]);
  if (at >= accepted) add(carried, ["failed", "possibly"]);
  let refusedSince = counts.failed > counts.possibly;
  for (const [place, each] of exchanges.entries()) {
    if (!isMeant(each)) continue;
    const { outcome, isSole, base } = each;
    const isAnswered = outcome === "success";
    if (place > Math.max(at, ended) && outcome !== "refused" && outcome !== "nothing") {
      counts.unacked += 1;
      if (!isAnswered) counts.unanswered += 1;
    }
    if (outcome === "refused" && place > accepted) refusedSince = true;
    if (place <= Math.max(at, accepted)) continue;
    if (outcome === "refused") counts.failed += 1;
    // "earlier unanswered starts with the same pair now count one possibly failed attempt each"
    const isRefusedLater = exchanges.some(
      (later, when) => when > place && later.outcome === "refused" && later.base === base,
    );
    if (outcome === null || (outcome === "no whole answer" && (!isSole || isRefusedLater))) {
      counts.failed += 1;
      counts.possibly += 1;
    }
  }
  return { ...counts, refusedSince };
}

/** As `guard --reset --unanswered` would leave it. */
export function withoutUnanswered(store: Store): Store {
  const after = copyStore(store);
  storeSteps.guardReset(after, "unanswered");
  return after;
}

/** What is carried for exchanges that are gone: nobody knows any more that they were sole. */
export const countedToCarry = (store: Store): Counts =>
  counted({ ...store, exchanges: store.exchanges.map((each) => ({ ...each, isSole: false })) });

/** Carries other counters than what the exchanges count; null for what they do. */
export function carry(store: Store, { unacked, unanswered, failed, possibly }: Counts): void {
  store.carried = { unacked, unanswered, failed, possibly };
  store.upTo = store.exchanges.at(-1)?.id ?? store.upTo;
}

/** Nobody else can have made them stale: made and proven here, known nowhere else, followed by none, and nothing was refused since. */
export function isSole(store: Store, number: number): boolean {
  const generation = generationOf(store, number);
  return (
    generation?.proven === true &&
    !generation.elsewhere &&
    !generation.ended &&
    !counted(store).refusedSince
  );
}

// What is known of credentials, and what proves them (docs/design.md, Candidates)

const unproven = { proven: false, refused: false, ended: false } as const;
const live: readonly string[] = ["current", "imported", "offered"];

export const liveWith = (store: Store, pair: number): Generation | undefined =>
  store.generations.findLast((g) => g.pair === pair && live.includes(g.standing));
export const isSuperseded = (store: Store, pair: number): boolean =>
  liveWith(store, pair) === undefined &&
  store.generations.some((g) => g.pair === pair && g.standing === "superseded");

/** "The last few generations" of superseded pairs are kept. */
const lastFew = 5;

function prove(store: Store, generation: Generation | undefined): void {
  if (generation !== undefined)
    Object.assign(generation, {
      ...unproven,
      proven: true,
      standing: "current",
      placed: null,
    });
  const dead = store.generations.filter((g) => g.standing === "superseded").slice(0, -lastFew);
  store.generations = store.generations.filter((g) => !dead.includes(g));
}

/** A refusal is forgotten by an end call that has proven the very same credentials, or by an import of them. */
function forgetRefusal(store: Store, { pair }: Generation): void {
  store.refused = store.refused.filter((refused) => refused !== pair);
  for (const each of store.generations) if (each.pair === pair) each.refused = false;
}

/**
 * The generation that given credentials have here, which is known elsewhere from now on. Another hashedPin makes those that the
 * service has accepted another generation: "proven, with this pin, device and kind".
 */
function known(
  store: Store,
  number: number,
  pair: number,
  placed: Placed | null,
  isSentWithOther = false,
): number {
  const there = liveWith(store, pair);
  const isAnother = isSentWithOther && (there?.proven || there?.standing !== "imported");
  const here = isAnother ? undefined : there;
  if (there === undefined && isSuperseded(store, pair)) throw new NotTaken();
  if (here !== undefined) here.elsewhere = true;
  else
    store.generations.push({
      number,
      pair,
      standing: "imported",
      elsewhere: true,
      placed,
      ...unproven,
    });
  return here?.number ?? number;
}

/** What is to be made of a recovery document: nothing, where all of it is known; or where its new credentials stand. */
function ageOf(store: Store, document: Document): Placed | "known" | null {
  const exchange = exchangeOf(store, document.exchange);
  const next = liveWith(store, document.new);
  if (exchange !== undefined && openStates.includes(exchange.state)) return "known";
  if (next !== undefined && (next.proven || next.standing !== "imported")) return "known";
  const [isOldDead, isNewDead] = [document.old, document.new].map((pair) =>
    isSuperseded(store, pair),
  );
  // "followed here by others that a start has proved"
  const isProven = store.generations.some((g) => g.proven && g.standing === "current");
  const isFollowed = isProven && (isNewDead || (isOldDead && next === undefined));
  if (isFollowed || (isOldDead && isNewDead)) throw new NotTaken();
  if (store.proof !== null && document.new < store.proof) return "older";
  return liveWith(store, document.old)?.standing === "current" ? "successor" : null;
}

// What an earlier run left (docs/design.md, Settling)

function inState(store: Store, id: number, from: readonly Exchange["state"][]): Exchange {
  const exchange = exchangeOf(store, id);
  if (exchange === undefined || !from.includes(exchange.state)) throw new NotTaken();
  return exchange;
}

/** "A success settles it": what becomes of what was left, when a start with these credentials is accepted. */
function settledBy(base: number, left: Exchange): Exchange["state"] {
  const mayHaveArrived = left.state === "in-doubt" || left.ends > 0;
  if (!mayHaveArrived) return "discarded";
  if (left.next === base) return "acknowledged";
  return left.base === base ? "expired" : "discarded";
}

/** "A refusal of the base of an expired or discarded exchange puts it in doubt again": somebody else may have acknowledged it. */
function doubtWhatItHasBegun(store: Store, base: number): void {
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

export const storeSteps: StoreSteps = {
  intent(store, { id, operation, base }) {
    if (exchangeOf(store, id) !== undefined || generationOf(store, base) === undefined)
      throw new NotTaken();
    const start: Exchange = {
      id,
      operation,
      state: "intent",
      base,
      next: null,
      delivered: false,
      saveOwed: false,
      ends: 0,
      limited: false,
      adopted: false,
      seen: false,
      arrived: false,
      outcome: null,
      isSole: isSole(store, base),
    };
    store.exchanges.push(start);
  },
  takenBack(store, id) {
    const start = inState(store, id, ["intent"]);
    Object.assign(start, { state: "discarded", outcome: "nothing" });
  },
  noWholeAnswer(store, id, isSuccess) {
    inState(store, id, ["intent"]).outcome = isSuccess ? "success" : "no whole answer";
  },
  refused(store, id, counts) {
    const start = inState(store, id, ["intent"]);
    Object.assign(start, { state: "rejected", outcome: counts ? "refused" : "nothing" });
    if (!counts) return;
    const base = generationOf(store, start.base);
    if (base !== undefined) {
      base.refused = true;
      store.refused = [...new Set([...store.refused, base.pair])];
    }
    doubtWhatItHasBegun(store, start.base);
  },
  started(store, id, { number, pair, limited, elsewhere }) {
    const start = inState(store, id, ["intent"]);
    const base = generationOf(store, start.base);
    if (base === undefined) throw new NotTaken();
    Object.assign(start, { state: "started", outcome: "success", next: number, limited });
    for (const left of store.exchanges)
      if (left !== start && (left.state === "intent" || openStates.includes(left.state)))
        left.state = settledBy(start.base, left);
    for (const each of store.generations) if (each !== base) each.standing = "superseded";
    prove(store, base);
    store.refused = store.refused.filter((refused) => refused !== base.pair);
    store.generations.push({
      number,
      pair,
      standing: "offered",
      elsewhere,
      placed: null,
      ...unproven,
    });
    Object.assign(store, { limited, proof: pair });
  },
  held(store, id, { delivered, saveOwed }) {
    const exchange = inState(store, id, ["started", "held"]);
    exchange.delivered ||= delivered;
    Object.assign(exchange, { state: "held", saveOwed });
  },
  ending(store, id, delivered) {
    const exchange = inState(store, id, ["started", "held", "ending"]);
    exchange.delivered ||= delivered;
    exchange.ends += 1;
    exchange.state = "ending";
    const base = generationOf(store, exchange.base);
    if (base !== undefined) base.ended = true;
  },
  acknowledged(store, id) {
    const exchange = inState(store, id, ["ending"]);
    exchange.state = "acknowledged";
    const [next, base] = [generationOf(store, exchange.next), generationOf(store, exchange.base)];
    // "A SUCCESS for an adopted exchange supersedes nothing: its new, then its old credentials are the next to be tried."
    if (exchange.adopted) {
      if (next?.standing === "imported") next.placed ??= "successor";
      if (base?.standing === "imported") base.placed ??= "older";
      return;
    }
    for (const each of store.generations)
      if (each.pair === base?.pair) each.standing = "superseded";
    prove(store, next);
    if (next !== undefined) forgetRefusal(store, next);
    // What is carried was sent before it, unless its end call is a repeated one.
    const upTo = store.exchanges.findIndex((each) => each.id === store.upTo);
    if (store.carried !== null && upTo >= store.exchanges.indexOf(exchange) && exchange.ends === 1)
      store.carried = { ...store.carried, unacked: 0, unanswered: 0 };
    // Its token was alive, so no start since was answered by the service: none with its old credentials has failed either.
    for (const each of store.exchanges.slice(store.exchanges.indexOf(exchange) + 1)) {
      if (each.state !== "intent" || each.base !== exchange.base) continue;
      each.outcome ??= "no whole answer";
      each.isSole = true;
    }
  },
  endSettlesNothing(store, id) {
    const exchange = inState(store, id, ["ending"]);
    exchange.ends = Math.max(0, exchange.ends - 1);
  },
  expired(store, id) {
    const exchange = inState(store, id, ["ending", "in-doubt"]);
    exchange.state = "expired";
    const next = generationOf(store, exchange.next);
    if (next !== undefined) next.standing = "void";
  },
  inDoubt(store, id) {
    inState(store, id, ["ending"]).state = "in-doubt";
  },
  importPair(store, { number, pair, isSentWithOther }) {
    const there = liveWith(store, pair);
    const here = known(store, number, pair, null, isSentWithOther);
    if (there?.number === here) forgetRefusal(store, there);
  },
  importDocument(store, document, [old, next]) {
    const placed = ageOf(store, document);
    if (placed === "known") return;
    const exchange = exchangeOf(store, document.exchange);
    if (exchange !== undefined) {
      // Dropped here; who imports it says that it may have been acknowledged elsewhere.
      const dropped = generationOf(store, exchange.next);
      if (dropped?.standing === "void") dropped.standing = "imported";
      return;
    }
    const older = placed === "older" ? placed : null;
    const [isOldDead, isNewDead] = [document.old, document.new].map((pair) =>
      isSuperseded(store, pair),
    );
    const base = isOldDead ? null : known(store, old, document.old, older);
    const offered = isNewDead ? null : known(store, next, document.new, placed);
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
      adopted: true,
      seen: false,
      arrived: true,
      outcome: "success",
      isSole: false,
    });
  },
  wentElsewhere(store, generations) {
    for (const each of store.generations)
      if (generations.includes(each.number)) each.elsewhere = true;
  },
  guardReset(store, to) {
    const isOpen = ({ outcome }: Exchange): boolean =>
      outcome === null || outcome === "no whole answer";
    if (to === "unanswered") {
      const at = store.exchanges.findIndex(({ id }) => id === store.upTo);
      for (const each of store.exchanges.slice(at + 1)) if (isOpen(each)) each.outcome = "nothing";
      const { carried } = store;
      if (carried === null) return;
      carried.unacked -= carried.unanswered;
      carried.failed -= carried.possibly;
      Object.assign(carried, { unanswered: 0, possibly: 0 });
    } else {
      const shown = to === "all" ? { unacked: 0, failed: 0 } : to;
      carry(store, { ...shown, unanswered: 0, possibly: 0 });
    }
  },
};
