import { isOpen } from "./client.ts";
import type { Exchange, Generation, Process, State, Store } from "./state.ts";
import { generationOf, openStates } from "./state.ts";
import { lockAt } from "./service.ts";
import { counted } from "./store.ts";

/** Pairs are named in the order in which they are met. */
class Names {
  readonly #known = new Map<number, string>();

  of(pair: number | null): string {
    if (pair === null) return "-";
    let name = this.#known.get(pair);
    if (name === undefined)
      this.#known.set(pair, (name = String.fromCodePoint(65 + this.#known.size)));
    return name;
  }
}

/** Beyond these nothing depends on the counters: more than what the guard refuses, also after one is taken back. */
const enough = { unacked: lockAt.unacked + 1, failed: lockAt.failed + 1 };

/** From here on the model leaves off counting. */
export function isBeyondCounting({ store }: State): boolean {
  const { unacked, failed } = counted(store);
  return unacked >= enough.unacked || failed >= enough.failed;
}

/**
 * What tells states apart. Left out is what nothing that follows depends on, so that a vault may go through any number of
 * exchanges: the numbers themselves (only which are the same, and their order), all superseded pairs but the newest, exchanges that
 * are over, what a process has no more use for, and how many end calls went unanswered beyond the first. One that is sent is taken
 * off that count only if it is answered, so that whether it was zero before is all that matters.
 */
export function keyOf(state: State): string {
  const names = new Names();
  let key = durable(state, names, false);
  if (state.processes.length === 1) key += processKey(state.processes[0] ?? null, names, state);
  else key += state.processes.map((process) => processKey(process, names, state)).sort();
  const { delayed, fault, truth } = state;
  key += `|${truth.isSilent ? "s" : ""}${truth.hasArrived ? "a" : ""}${truth.hasDied ? "d" : ""}${truth.isSet ? "=" : ""}${truth.refused
    .map((pair) => names.of(pair))
    .sort()
    .join("")}`;
  if (delayed !== null)
    key +=
      "end" in delayed
        ? `|end${names.of(delayed.end)}`
        : `|start${names.of(delayed.start)}${delayed.operation}`;
  return fault === null ? key : key + fault;
}

/** Service and store with all that the model knows of them, to be compared with the real ones. */
export const durableKey = (state: State): string => durable(state, new Names(), true);

function durable(state: State, names: Names, isExact: boolean): string {
  const { service, store } = state;
  const { open, failed, unacked, uses } = service;
  let key = names.of(service.pair);
  if (open !== null)
    key += `>${names.of(open.offered)}${isExact || uses !== null ? open.operation : ""}`;
  key += ` ${failed}${unacked}${service.locked ? "L" : ""}${service.deleted ? "D" : ""}${uses ?? ""},`;
  const kept = keptGenerations(state);
  for (const g of kept) {
    key += `${names.of(g.pair)}${letters[g.standing]}${g.proven && (isExact || g.standing !== "superseded") ? "!" : ""}`;
    if (g.standing === "superseded") continue;
    key += `${store.refused.includes(g.pair) ? "?" : ""}${g.refused ? "r" : ""}${g.elsewhere ? "e" : ""}${g.ended ? "x" : ""}${g.placed?.[0] ?? ""}`;
  }
  key += ` ${countsKey(store, isExact)}${store.limited ? "L" : ""}${breakerKey(store, isExact)}${store.proof === null ? "" : "p"},`;
  const exchanges = isExact
    ? store.exchanges.filter((exchange) => isOfUse(exchange, state))
    : store.exchanges;
  // The order of starts that are over tells nothing, but for what lies between.
  let over: string[] = [];
  for (const exchange of exchanges) {
    const own = exchangeKey(exchange, state, kept, isExact);
    if (!isExact && own.startsWith("(i") && !own.startsWith("(intent")) over.push(own);
    else {
      key += over.sort().join("") + own;
      over = [];
    }
    if (!isExact && exchange.id === store.upTo) {
      key += `${over.sort().join("")}^`;
      over = [];
    }
  }
  return key + over.sort().join("");
}

/** What counts: what the exchanges do not say themselves or, to be compared, all of it. */
function countsKey(store: Store, isExact: boolean): string {
  const { unacked, unanswered, failed, possibly, refusedSince } = counted(store);
  if (isExact) {
    const failures = Math.min(failed, lockAt.failed);
    return `${failures}${Math.min(possibly, failures)}${Math.min(unacked, lockAt.unacked)}${Math.min(unanswered, lockAt.unacked)}${refusedSince ? "R" : ""}`;
  }
  return store.carried === null ? "" : Object.values(store.carried).join("");
}

const breakerKey = (store: Store, isExact: boolean): string =>
  (isExact ? isOpen(store) : store.breaker.isOpen) ? "o" : "";

const letters = { current: "c", imported: "i", offered: "o", superseded: "s", void: "v" } as const;

/** Of superseded generations the newest, and those that are still spoken of. */
function keptGenerations({ store, service, processes }: State): Generation[] {
  const newest = store.generations.findLast((g) => g.standing === "superseded");
  return store.generations.filter(
    (g) =>
      g.standing !== "superseded" ||
      g === newest ||
      g.pair === service.pair ||
      g.pair === service.open?.offered ||
      processes.some(
        (process) =>
          process !== null && (process.offered === g.pair || process.pairs.includes(g.number)),
      ),
  );
}

/** The open one, the last one, those of processes, those that a refusal would put in doubt again or make a possible failure, and those that show an acknowledgement. */
function isOfUse(exchange: Exchange, { store, processes }: State): boolean {
  return (
    openStates.includes(exchange.state) ||
    exchange === store.exchanges.at(-1) ||
    isReopened(exchange, store) ||
    isQuiet(exchange, store) ||
    (exchange.state === "intent" && exchange.outcome === "success") ||
    processes.some((process) => process?.exchange === exchange.id)
  );
}

/** It has not failed unless its credentials are refused. */
function isQuiet(
  { id, state, outcome, isSole, base }: Exchange,
  { exchanges, upTo }: Store,
): boolean {
  if (state !== "intent" || outcome !== "no whole answer" || !isSole) return false;
  const later = exchanges.slice(exchanges.findIndex((each) => each.id === id));
  return !later.some(
    (each) =>
      each.id === upTo ||
      (each.outcome === "refused" && each.base === base) ||
      (each.outcome === "success" && !each.adopted),
  );
}

const isReopened = ({ state, next }: Exchange, store: Store): boolean =>
  state === "expired" && generationOf(store, next)?.standing === "void";

/** Of the row of the table. */
const letterOf = ({ outcome }: Exchange): string =>
  outcome === "nothing" ? "0" : (outcome?.[0] ?? "-");

function exchangeKey(
  exchange: Exchange,
  { processes, store }: State,
  kept: readonly Generation[],
  isExact: boolean,
): string {
  const owner = processes.find((process) => process?.exchange === exchange.id);
  const { state, operation, delivered, saveOwed, limited, seen } = exchange;
  const place = (number: number | null): number => kept.findIndex((g) => g.number === number);
  if (state === "intent" && owner !== undefined)
    return `(intent${operation}${place(exchange.base)}${exchange.isSole ? "=" : ""}${letterOf(exchange)}${exchange.arrived && !isExact ? "A" : ""})`;
  if (!openStates.includes(state)) {
    if (isExact) return `(${state})`;
    if (isReopened(exchange, store)) return `(x${place(exchange.base)}${place(exchange.next)})`;
    const { outcome, adopted, isSole } = exchange;
    if (state === "intent")
      return `(i${place(exchange.base)}${isSole ? "=" : ""}${letterOf(exchange)}${exchange === store.exchanges.at(-1) && exchange.id > store.breaker.closedAfter ? "!" : ""})`;
    if (state === "acknowledged") return adopted ? "(a+)" : "(a)";
    return `(${letterOf(exchange)}${outcome === "refused" ? place(exchange.base) : ""}${adopted ? "+" : ""})`;
  }
  const isUnderWay = owner?.at === "send-end" || owner?.at === "end-answered";
  const ends = Math.min(exchange.ends, isUnderWay ? 2 : 1);
  let key = `(${state}${operation}${place(exchange.base)}${place(exchange.next)}${ends}`;
  if (saveOwed) key += "w";
  if (exchange.adopted) key += "a";
  if (limited || isExact) key += `${limited ? "l" : ""}${delivered ? "d" : ""}${seen ? "s" : ""}`;
  return `${key})`;
}

const beforeSuccess = ["trial", "intent", "send-start", "start-answered"];

function processKey(process: Process | null, names: Names, { store }: State): string {
  if (process === null) return "|";
  const { at, command, purpose, fenced, exchange } = process;
  let key = `|${at}${purpose}${fenced ? "f" : ""}`;
  // What matters of the command by now: after a left exchange is settled, it is still to be begun.
  if (purpose !== "ack")
    key +=
      command.do +
      (command.noAck ? "n" : "") +
      (command.out ? "o" : "") +
      (command.chooses ? "c" : "");
  if (purpose === "left") key += command.force ? "!" : "";
  const isChosen = purpose === "left" && command.chooses === true;
  if (isChosen || (purpose === "own" && beforeSuccess.includes(at))) {
    for (const number of process.pairs)
      key += `.${store.generations.findIndex((g) => g.number === number)}`;
    key += `-${process.tried.map((number) => store.generations.findIndex((g) => g.number === number)).join(".")}${process.repeated ? "r" : ""}${process.forced ? "!" : ""}${process.trial?.[0] ?? ""}`;
  }
  if (process.reply !== null) key += process.reply;
  if (process.late) key += "late";
  if (process.stale) key += "stale";
  key += names.of(process.offered);
  if (at === "started" && process.limited) key += "L";
  if (process.hold !== null)
    key += `${process.hold.delivered ? "d" : ""}${process.hold.saveOwed ? "w" : ""}h`;
  // Only in the middle of an end call is it asked whether any went unanswered before.
  if (at === "send-end" || at === "end-answered") key += process.before > 0 ? "1" : "0";
  return fenced ? `${key}${store.exchanges.find((e) => e.id === exchange)?.state}` : key;
}

/** Takes out what the key leaves out, so that states do not grow. */
export function prune(state: State): void {
  const { store } = state;
  store.generations = keptGenerations(state);
  const isOver = (e: Exchange): boolean =>
    e.state === "intent" && !state.processes.some((process) => process?.exchange === e.id);
  if (store.exchanges.some((e) => isOver(e) && e.arrived)) state.truth.hasArrived = true;
  if (store.exchanges.some((e) => isOver(e) && e.outcome === null)) state.truth.hasDied = true;
  pruneExchanges(state);
  if (store.refused.length > 0)
    store.refused = store.refused.filter((pair) => store.generations.some((g) => g.pair === pair));
  const { unacked, unanswered, possibly } = counted(store);
  if (possibly === 0) state.truth.hasDied = false;
  if (unanswered === 0) state.truth.hasArrived = false;
  if (unacked === 0) state.truth.isSet = false;
  for (const exchange of store.exchanges) if (isOver(exchange)) exchange.arrived = false;
  state.truth.refused = state.truth.refused.filter((pair) =>
    store.generations.some((g) => g.pair === pair),
  );
  for (const exchange of store.exchanges) if (exchange.ends > 2) exchange.ends = 2;
}

/** Takes out exchanges that are of no use, and carries in their place what they count. */
function pruneExchanges(state: State): void {
  const { store } = state;
  const counts = counted(store);
  const isSame = (other: Store): boolean =>
    Object.entries(counted(other)).every(([name, n]) => counts[name as keyof typeof counts] === n);
  const to = (changes: Partial<Store>): boolean => {
    const is = isSame({ ...store, ...changes });
    if (is) Object.assign(store, changes);
    return is;
  };
  for (const each of store.exchanges) {
    // May have failed, for whatever reason.
    const isOver = !state.processes.some((process) => process?.exchange === each.id);
    const mayHaveFailed = each.outcome === null || each.outcome === "no whole answer";
    if (each.state === "intent" && isOver && mayHaveFailed && !isQuiet(each, store))
      Object.assign(each, { outcome: "no whole answer", isSole: false });
  }
  // Refused ones are not carried: a reset makes credentials no sole ones.
  const accepted = store.exchanges.findLastIndex((e) => !e.adopted && e.outcome === "success");
  const refused = store.exchanges.slice(accepted + 1).filter((e) => e.outcome === "refused");
  const isKept = (each: Exchange): boolean => isOfUse(each, state) || refused.includes(each);
  const uses = store.exchanges.map(isKept);
  if (!uses.includes(false) && store.carried === null) return;
  const first = Math.max(0, uses.indexOf(true));
  const head = store.exchanges.slice(0, first);
  if (head.length > 0) {
    const exchanges = store.exchanges.slice(first);
    const { refusedSince: _, ...carried } = counted({ ...store, exchanges: head });
    if (exchanges.some(({ id }) => id === store.upTo)) to({ exchanges });
    else to({ exchanges, carried, upTo: null });
  }
  for (const each of store.exchanges)
    if (!isKept(each) && each.id !== store.upTo)
      to({ exchanges: store.exchanges.filter((other) => other !== each) });
  if (store.carried === null) return;
  const { unacked, failed } = store.carried;
  const isVoid =
    isSame({ ...store, carried: { ...store.carried, unacked: unacked + 1 } }) &&
    isSame({ ...store, carried: { ...store.carried, failed: failed + 1 } });
  const isNone = store.upTo === null && Object.values(store.carried).every((n) => n === 0);
  if (isVoid || isNone) Object.assign(store, { carried: null, upTo: null });
  if (store.carried === null) return;
  // One that is only named, in place of which the one before may be.
  const at = store.exchanges.findIndex(({ id }) => id === store.upTo);
  const named = store.exchanges[at];
  if (named !== undefined && !isKept(named))
    to({
      upTo: store.exchanges[at - 1]?.id ?? null,
      exchanges: store.exchanges.filter((each) => each !== named),
    });
  // What is void.
  to({ carried: { ...store.carried, failed: 0, possibly: 0 } });
  to({ carried: { ...store.carried, unacked: 0, unanswered: 0 } });
  // Beyond these numbers nothing depends on them.
  const [starts, failures] = [counts.unacked - enough.unacked, counts.failed - enough.failed];
  const less = (n: number, by: number): number => Math.max(0, n - Math.max(0, by));
  store.carried = {
    unacked: less(store.carried.unacked, starts),
    unanswered: less(store.carried.unanswered, starts),
    failed: less(store.carried.failed, failures),
    possibly: less(store.carried.possibly, failures),
  };
}
