import { isOpen } from "./client.ts";
import type { Exchange, Generation, Process, State, Store } from "./state.ts";
import { generationOf, openStates } from "./state.ts";
import { lockAt } from "./service.ts";

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
export const isBeyondCounting = ({ store: { unacked, failed } }: State): boolean =>
  unacked >= enough.unacked || failed >= enough.failed;

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
  key += `|${truth.isSilent ? "s" : ""}${truth.hasArrived ? "a" : ""}${truth.isSet ? "=" : ""}${truth.refused
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
  const most = isExact ? lockAt : enough;
  const [starts, failures] = [
    Math.min(store.unacked, most.unacked),
    Math.min(store.failed, most.failed),
  ];
  key += ` ${failures}${isExact ? Math.min(store.possibly, failures) : ""}${starts}${store.limited ? "L" : ""}${breakerKey(store, isExact)}${store.proof === null ? "" : "p"},`;
  const unanswered = unansweredOf(store);
  key += `${unanswered}${Math.min(store.quiet, unanswered)}${store.refusedSince ? "R" : ""}`;
  for (const exchange of keptExchanges(state)) key += exchangeKey(exchange, state, kept, isExact);
  return key;
}

/** The unanswered ones of as many starts as matter. */
const unansweredOf = ({ unacked, unanswered }: Store): number =>
  Math.max(0, unanswered - Math.max(0, unacked - enough.unacked));

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

/** The open one and what is counted after it, the last one, those that a refusal would make possible failures, those of processes, and those that a refusal would put in doubt again. */
function keptExchanges({ store, processes }: State): Exchange[] {
  const last = store.exchanges.at(-1);
  const openAt = store.exchanges.findIndex(
    (e) => openStates.includes(e.state) || isReopened(e, store),
  );
  return store.exchanges.filter(
    (e, at) =>
      openStates.includes(e.state) ||
      e === last ||
      isReopened(e, store) ||
      (e.countedStart === 1 && openAt >= 0 && at > openAt) ||
      (e.state === "intent" && e.countedStart === 1 && e.countedFailed === 0) ||
      processes.some((process) => process?.exchange === e.id),
  );
}

const isReopened = ({ state, next }: Exchange, store: Store): boolean =>
  state === "expired" && generationOf(store, next)?.standing === "void";

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
    return `(intent${operation}${place(exchange.base)}+${exchange.countedFailed}${exchange.countedStart}${exchange.arrived && !isExact ? "A" : ""})`;
  if (!openStates.includes(state)) {
    if (isExact) return `(${state})`;
    if (isReopened(exchange, store)) return `(x${place(exchange.base)}${place(exchange.next)})`;
    if (state === "intent")
      return `(i${place(exchange.base)}${exchange.countedFailed}${exchange.countedStart}${exchange.id > store.breaker.closedAfter ? "!" : ""})`;
    if (exchange === store.exchanges.at(-1) && state === "acknowledged") return "(a)";
    return exchange.countedStart === 1 ? "(1)" : "";
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
  store.exchanges = keptExchanges(state);
  if (store.refused.length > 0)
    store.refused = store.refused.filter((pair) => store.generations.some((g) => g.pair === pair));
  const failures = Math.max(0, store.failed - enough.failed);
  Object.assign(store, {
    unacked: Math.min(store.unacked, enough.unacked),
    unanswered: unansweredOf(store),
  });
  Object.assign(store, {
    failed: store.failed - failures,
    possibly: Math.max(0, store.possibly - failures),
  });
  store.quiet = Math.min(store.quiet, store.unanswered);
  const isOver = (e: Exchange): boolean =>
    e.state === "intent" && !state.processes.some((process) => process?.exchange === e.id);
  if (store.exchanges.some((e) => isOver(e) && e.arrived)) state.truth.hasArrived = true;
  if (store.unanswered === 0) state.truth.hasArrived = false;
  if (store.unacked === 0) state.truth.isSet = false;
  for (const exchange of store.exchanges) if (isOver(exchange)) exchange.arrived = false;
  state.truth.refused = state.truth.refused.filter((pair) =>
    store.generations.some((g) => g.pair === pair),
  );
  for (const exchange of store.exchanges) if (exchange.ends > 2) exchange.ends = 2;
}
