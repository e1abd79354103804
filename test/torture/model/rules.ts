import { begin, isRefused, type Way } from "./client.ts";
import { keyOf } from "./keys.ts";
import type { Parts } from "./moves.ts";
import { lockAt } from "./service.ts";
import type { Command, Process, State } from "./state.ts";
import { edit, exchangeOf, generationOf, openOf, openStates } from "./state.ts";
import { counted, isSole } from "./store.ts";
import { importPair, reset, steps, type Bounds, type Reset } from "./world.ts";

/** What a command comes to when the service answers everything again. */
function calmly(
  parts: Parts,
  bounds: Bounds,
  from: State,
  command: Command,
): { state: State; code: string; trials: number } {
  let state = edit(from);
  let code = begin(parts.client, state, 0, command);
  let trials = 0;
  while (code === undefined) {
    const step = steps(parts, bounds, state).find(({ place, isFine }) => place === 0 && isFine);
    if (step === undefined) throw new Error(`nothing goes on at ${state.processes[0]?.at}`);
    if (state.processes[0]?.at === "trial") trials += 1;
    ({ to: state, code } = step);
  }
  return { state, code, trials };
}

const get: Command = { name: "get", do: "get" };

/**
 * Once the service answers again, sole credentials are read by plain `get` within one trial interval; unless processes have died, which
 * somebody may have overtaken.
 */
function stopped(parts: Parts, bounds: Bounds, state: State): string | undefined {
  const { service, store, truth } = state;
  if (truth.hasDied) return undefined;
  const [first = 0] = parts.client.candidates(store);
  const isRight = store.generations.some((g) => g.number === first && g.pair === service.pair);
  const hasStart = Math.max(service.unacked, counted(store).unacked) + 1 < lockAt.unacked;
  const isFree = !service.locked && !service.deleted && openOf(store)?.state !== "held";
  if (!isFree || !isRight || !hasStart || !isSole(store, first)) return undefined;
  const { code, trials } = calmly(parts, bounds, state, get);
  if (code !== "ok")
    return `stopped for nothing: the service answers, and a plain get of sole credentials ends with ${code}`;
  return trials > 1 ? "stopped for nothing: a plain get waits for more than one trial" : undefined;
}

/** Following `next` never returns to the same refusal with nothing changed, and ends with the contents. */
function circle(parts: Parts, bounds: Bounds, from: State): string | undefined {
  let state = from;
  let command = get;
  const met = new Set<string>();
  const told: string[] = [];
  let hasReset = false;
  for (;;) {
    if (isBeyondHelp(state)) return undefined;
    const ended = calmly(parts, bounds, state, command);
    ({ state } = ended);
    if (ended.code === "ok" && command.do === "get") return undefined;
    if (state.service.deleted) return undefined;
    const way =
      ended.code === "ok"
        ? "get"
        : parts.client
            .waysOn(parts.client, state.store, ended.code)
            .find((each) => isOpenTo(parts, each, state));
    told.push(`${command.name} is ${ended.code}, next: ${way}`);
    const key = `${command.name} ${ended.code} ${keyOf(state)}`;
    if (hasReset && ended.code === "guard" && parts.client.guardRefuses(state.store))
      return `in a circle: a reset that was named does not help: ${told.join("; ")}`;
    if (way === undefined) return `no way on: ${told.join("; ")}`;
    if (met.has(key)) return `in a circle: ${told.join("; ")}`;
    met.add(key);
    hasReset = way.startsWith("guard");
    ({ state, command } = take(parts, state, way));
  }
}

/** Without a request that locks, or that could be the last: for that there is only --force. */
function isBeyondHelp({ service, store }: State): boolean {
  const open = openOf(store);
  const isOurs =
    service.open !== null && generationOf(store, open?.next ?? null)?.pair === service.open.offered;
  const canEnd = isOurs && open?.state !== "in-doubt";
  return (
    !service.locked &&
    (service.failed + 1 >= lockAt.failed || (service.unacked + 1 >= lockAt.unacked && !canEnd))
  );
}

/** Whether what a person knows, of the audit log and of the administrator, speaks for a way. */
function isOpenTo(parts: Parts, way: Way, { service, store, truth }: State): boolean {
  if (way === "guard --reset") return service.locked;
  if (way === "guard --reset --unanswered") return !truth.hasArrived;
  const fresh = parts.client.candidates(store).filter((number) => !isRefused(store, number));
  const isRight = (number: number | undefined): boolean =>
    generationOf(store, number ?? null)?.pair === service.pair;
  if (way.startsWith("get --generation N")) return fresh.some(isRight);
  return true;
}

const commands: Partial<Record<Way, Command>> = {
  get,
  "get --discard-pending": { name: "get --discard-pending", do: "get", discard: true },
  "update --discard-pending": { name: "update --discard-pending", do: "update", discard: true },
  "get --generation N": { name: "get --generation N", do: "get", chooses: true },
  "get --generation N --force": {
    name: "get --generation N --force",
    do: "get",
    chooses: true,
    force: true,
    discard: true,
  },
  ack: { name: "ack", do: "ack" },
  "ack --saved": { name: "ack --saved", do: "ack", saved: true },
  "ack --unread": { name: "ack --unread", do: "ack", unread: true },
  "ack --unread --saved": { name: "ack --unread --saved", do: "ack", unread: true, saved: true },
};

/** What a person does who follows it, and the command that comes next. */
function take(parts: Parts, from: State, way: Way): { state: State; command: Command } {
  const command = commands[way];
  if (command !== undefined) return { state: from, command };
  const state = edit(from);
  if (way === "import") importPair(parts, state, state.service.pair);
  else reset(parts, state, way as Reset);
  return { state, command: get };
}

/** The invariants, as what is wrong with a state; undefined where all hold. */
export function violation(parts: Parts, bounds: Bounds, state: State): string | undefined {
  const isAtRest =
    bounds.gateway !== undefined && state.processes.every((process) => process === null);
  return (
    state.fault ??
    nothingLost(state) ??
    oneExchange(state) ??
    counting(bounds, state) ??
    state.processes
      .map((process) => (process === null ? undefined : aboutToSend(bounds, state, process)))
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
  const { unacked, failed, unanswered } = counted(store);
  if (unacked < service.unacked && !service.locked)
    return "counting: the service has counted more starts without acknowledgement than we";
  if (failed < service.failed)
    return "counting: the service has counted more failed accesses than we";
  const hasRead = processes.some((process) => process?.at === "deliver");
  if (hasRead && !truth.isSet && unacked - unanswered > service.unacked)
    return "counting: a start that the service has acknowledged still counts, although a later one has shown it";
  const isForced = bounds.commands.some(({ force, careful }) => force && !careful);
  return service.locked && !isForced ? "never the locking request: the vault is locked" : undefined;
}

/** 2 and 4: what must be so when a request leaves. */
function aboutToSend(bounds: Bounds, state: State, process: Process): string | undefined {
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
  if (bounds.gateway === "answers probes" && process.trial === "due")
    return "the breaker: a trial goes out without a probe";
  const { unacked, failed } = counted(store);
  const isLast = unacked >= lockAt.unacked - 1;
  if (isLast && process.command.noAck)
    return "never the locking request: the last start before it, whose acknowledgement waits";
  if (process.forced && !process.command.careful) return undefined;
  // Its own is among those that are possible: nothing has come back yet.
  const before = failed - 1;
  if (unacked >= lockAt.unacked)
    return "never the locking request: the 5th start without acknowledgement by our records";
  if (before + 1 >= lockAt.failed)
    return "never the locking request: the 3rd failed access by our records";
  return undefined;
}

/** Nothing is open, nothing is counted, and the pair that the service accepts is the proven current one. */
export function isInStep({ service, store, processes }: State): boolean {
  const current = store.generations.find((g) => g.standing === "current");
  const { unacked, failed } = counted(store);
  return (
    processes.every((process) => process === null) &&
    openOf(store) === undefined &&
    current?.pair === service.pair &&
    current.proven &&
    unacked === 0 &&
    failed === 0
  );
}
