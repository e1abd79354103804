import { circle, stopped } from "./calm.ts";
import type { Parts } from "./moves.ts";
import { lockAt } from "./service-part.ts";
import type { Process, State } from "./state.ts";
import { exchangeOf, generationOf, openOf, openStates } from "./state.ts";
import type { Bounds } from "./world.ts";

/** The invariants of DESIGN, as what is wrong with a state; undefined where all hold. */
export function violation(parts: Parts, bounds: Bounds, state: State): string | undefined {
  const isAtRest =
    bounds.gateway !== undefined && state.processes.every((process) => process === null);
  return (
    state.fault ??
    nothingLost(state) ??
    oneExchange(state) ??
    counting(bounds, state) ??
    state.processes
      .map((process) => (process === null ? undefined : aboutToSend(state, process)))
      .find((v) => v !== undefined) ??
    (isAtRest ? (stopped(parts, bounds, state) ?? circle(parts, bounds, state)) : undefined)
  );
}

/** 1 and 3: the state holds the pair that the service accepts, and the program knows that it is it, or one of two. */
function nothingLost({ service, store }: State): string | undefined {
  if (service.deleted) return undefined;
  const held = store.generations.filter(
    (g) => g.pair === service.pair && g.standing !== "superseded",
  );
  if (held.length === 0)
    return "nothing lost: the pair that the service accepts is not in the state, or is superseded there";
  const open = openOf(store);
  const isOneOfTwo = open?.state === "ending" || open?.state === "in-doubt";
  const isKnown = held.some(
    ({ number, standing }) =>
      standing === "current" ||
      standing === "imported" ||
      (isOneOfTwo && (number === open.base || number === open.next)),
  );
  return isKnown
    ? undefined
    : "nothing lost: the program does not know which pair the service accepts";
}

function oneExchange({ store }: State): string | undefined {
  return store.exchanges.filter((e) => openStates.includes(e.state)).length > 1
    ? "one exchange at a time: two are open"
    : undefined;
}

/** 4: counters. What others do, what is forced and what a broken lock lets through our records do not cover. */
function counting(bounds: Bounds, { service, store, processes, truth }: State): string | undefined {
  if (bounds.strangers || bounds.documents || bounds.delays || bounds.lockBreaks) return undefined;
  if (store.unacked < service.unacked && !service.locked)
    return "counting: the service has counted more starts without acknowledgement than we";
  if (store.failed < service.failed)
    return "counting: the service has counted more failed accesses than we";
  const hasRead = processes.some((process) => process?.at === "deliver");
  if (hasRead && !truth.isSet && store.unacked - store.unanswered > service.unacked)
    return "counting: a start that the service has acknowledged still counts, although a later one has shown it";
  const isForced = bounds.commands.some(({ force, careful }) => force && !careful);
  return service.locked && !isForced ? "never the locking request: the vault is locked" : undefined;
}

/** 2 and 4: what must be so when a request leaves. */
function aboutToSend(state: State, process: Process): string | undefined {
  const { store, truth } = state;
  const exchange = exchangeOf(store, process.exchange);
  if (process.at === "send-end") {
    if (
      !process.fenced &&
      (exchange?.state !== "ending" || generationOf(store, exchange.next)?.pair !== process.offered)
    )
      return "order: an end call is sent before the new pair is durable, or before ③ says so";
    const mustBeSeen =
      process.purpose === "own" || (exchange?.operation === "get" && exchange.limited);
    return mustBeSeen && exchange?.seen !== true && exchange?.state === "ending"
      ? "order: an end call is sent before the contents are delivered"
      : undefined;
  }
  if (process.at !== "send-start" || process.fenced) return undefined;
  if (exchange?.state !== "intent") return "order: a start is sent without ①";
  const generation = generationOf(store, exchange.base);
  if (generation === undefined || (generation.standing === "superseded" && !process.command.force))
    return "never a superseded pair: one is about to be sent";
  if (openOf(store)?.state === "ending")
    return "one exchange at a time: a start would drop one that may have been acknowledged";
  if (!process.command.force && truth.refused.includes(generation.pair))
    return "never what was refused before: it is about to be sent again";
  if (!process.forced && truth.isSilent && process.trial === null)
    return "the breaker: a start that is no trial goes out while it is open";
  if (truth.atOnce > 1) return "the breaker: more than one trial goes out before it is due";
  const isLast = store.unacked >= lockAt.unacked - 1;
  if (isLast && process.command.noAck)
    return "never the locking request: the last start before it, whose acknowledgement waits";
  if (process.forced && !process.command.careful) return undefined;
  const before = store.failed - exchange.countedFailed;
  if (store.unacked >= lockAt.unacked)
    return "never the locking request: the 5th start without acknowledgement by our records";
  if (before + 1 >= lockAt.failed)
    return "never the locking request: the 3rd failed access by our records";
  return undefined;
}

/** Nothing is open, nothing is counted, and the pair that the service accepts is the proven current one. */
export function isInStep({ service, store, processes }: State): boolean {
  const current = store.generations.find((g) => g.standing === "current");
  return (
    processes.every((process) => process === null) &&
    openOf(store) === undefined &&
    current?.pair === service.pair &&
    current.proven &&
    store.unacked === 0 &&
    store.failed === 0
  );
}
