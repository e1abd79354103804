import type { Command, Exchange, Generation, Point, Process, State, Store } from "./state.ts";
import { exchangeOf, generationOf, openOf } from "./state.ts";
import { lockAt } from "./service.ts";
import { counted, isSole, withoutUnanswered } from "./store.ts";

/** ① of the last start has no outcome: its process has died, or is about to. */
export function isFound({ exchanges, breaker }: Store): boolean {
  const last = exchanges.at(-1);
  return last?.state === "intent" && last.id > breaker.closedAfter;
}

/** Only a trial goes out: the last start, of whatever process, was not answered. */
export const isOpen = (store: Store): boolean => store.breaker.isOpen || isFound(store);

/** A start was answered, or a person says that the service works. */
export function close(store: Store): void {
  store.breaker = { isOpen: false, closedAfter: store.exchanges.at(-1)?.id ?? 0 };
}

/** What the reply to a start says of the service; nothing if the start is taken back. */
export function noteStart({ store, truth }: State, { reply, fenced }: Process): void {
  if (reply === "not-sent" || reply === "rate" || reply === "application") return;
  if (reply === "no-answer") {
    store.breaker.isOpen = true;
    if (!fenced) truth.isSilent = true;
  } else if (!fenced) {
    // Not by the answer to a start that was sent before the one that is lost. Also where it is closed, but for a success: its start may
    // stay on record without an outcome.
    if (store.breaker.isOpen || reply !== "success") close(store);
    truth.isSilent = false;
  }
}

/** The decisions of a process, as they were designed; what is wrong on purpose (flaws.ts) replaces one of them. */
export interface Client {
  /** From a success to the end call. */
  afterSuccess: readonly Point[];
  /** What a new start does about an exchange that was left; anything else is the exit code without a request. */
  toSettle(store: Store, command: Command): string;
  /** Numbers of the generations that may be right, in the order in which they are to be tried. */
  candidates(store: Store): number[];
  /** One more start could be the one that locks, or the last before it, whose acknowledgement waits for something. */
  guardRefuses(store: Store, command?: Command): boolean;
  /** One failed attempt is left before the last, and there is more than one to try. */
  isForAPerson(store: Store, candidates: readonly number[]): boolean;
  /** Only a trial goes out: the last start, of whatever process, was not answered. */
  isOpen(store: Store): boolean;
  /** A trial that is due goes out without a probe. */
  isTriedByTime(hasAnsweredProbes: boolean): boolean;
  /** A probe, or an end call, was answered: what that does to the breaker. */
  heard(store: Store): void;
  /** An unanswered start of this generation may be repeated by the program itself. */
  mayRepeat(store: Store, generation: number): boolean;
  /** What a command that has ended with this code names to be done next. */
  waysOn(client: Client, store: Store, code: string): Way[];
  /** A definite error about the token, with so many end calls unanswered before. */
  deadToken(store: Store, exchange: number | null, before: number): "expired" | "inDoubt";
}

const failedWouldLock = (store: Store): boolean => counted(store).failed + 1 >= lockAt.failed;
/** The service has refused it since it last accepted it. */
export const isRefused = (store: Store, number: number): boolean =>
  store.refused.includes(generationOf(store, number)?.pair ?? 0);

export const client: Client = {
  afterSuccess: ["started", "deliver", "ending", "send-end"],
  toSettle(store, { do: operation, discard, force, lapsed }) {
    const open = openOf(store);
    if (open === undefined) return "by the start";
    if (open.state === "ending") return "acknowledge";
    if (open.state === "in-doubt") return "by the start";
    // A read does not drop an update that somebody may be about to finish.
    const isOthers = open.state === "held" && open.operation === "update" && operation === "get";
    if (discard) return isOthers && !force ? "pending" : "by the start";
    if (open.state === "held") {
      return lapsed && operation === "get" && open.operation === "get" && !open.saveOwed
        ? "by the start"
        : "pending";
    }
    if (operation === "update") return "by the start";
    if (open.operation === "update") return "acknowledge";
    if (force || !client.guardRefuses(store)) return "by the start";
    return open.limited ? "guard" : "acknowledge";
  },
  candidates(store) {
    const open = openOf(store);
    const isInDoubt = open?.state === "in-doubt";
    const ofExchange = open === undefined ? [] : [open.next, open.base];
    if (open?.ends === 0) ofExchange.reverse();
    // "what a person has imported since the last proof (a successor before others); then those of an exchange in doubt; then the current
    // ones; then what is older"
    const rank = ({ number, standing, placed }: Generation): number => {
      if (standing === "imported" && placed === "successor") return 0;
      if (placed !== "older" && ofExchange.includes(number)) return 2 + ofExchange.indexOf(number);
      if (standing === "imported") return placed === null ? 1 : 5;
      return standing === "current" ? 4 : 6;
    };
    return store.generations
      .filter(({ standing }) => standing !== "superseded")
      .filter(({ number }) => open === undefined || isInDoubt || number === open.base)
      .toReversed()
      .toSorted((a, b) => rank(a) - rank(b))
      .map(({ number }) => number);
  },
  guardRefuses: (store, command) =>
    failedWouldLock(store) ||
    counted(store).unacked + 1 >= lockAt.unacked - (command?.noAck ? 1 : 0),
  isForAPerson(store, candidates) {
    const isLikely = (number: number): boolean => {
      const generation = generationOf(store, number);
      return generation?.placed !== "older" && generation?.standing !== "void";
    };
    return candidates.filter(isLikely).length > 1 && counted(store).failed + 2 >= lockAt.failed;
  },
  isOpen,
  isTriedByTime: (hasAnsweredProbes) => !hasAnsweredProbes,
  heard: () => undefined,
  mayRepeat: (store, number) =>
    isSole(store, number) &&
    counted(store).unacked + 1 <= lockAt.unacked - 2 &&
    !failedWouldLock(store),
  waysOn,
  deadToken(store, id, before) {
    const exchange = exchangeOf(store, id);
    const isOursAlone =
      generationOf(store, exchange?.next ?? null)?.elsewhere === false &&
      exchange?.adopted === false;
    return before === 0 && isOursAlone && generationOf(store, exchange.base)?.refused === false
      ? "expired"
      : "inDoubt";
  },
};

const idle = {
  purpose: "own" as const,
  exchange: null,
  pairs: [],
  tried: [],
  forced: false,
  repeated: false,
  trial: null,
  reply: null,
  offered: null,
  limited: false,
  late: false,
  stale: false,
  before: 0,
  hold: null,
  fenced: false,
};

/** Ends a process; the code is what the command exits with. */
export function finish(state: State, place: number, code: string): string {
  state.processes[place] = null;
  return code;
}

/** Takes the lock and goes to the first thing that is written or sent. Returns the exit code if nothing is. */
export function begin(
  client: Client,
  state: State,
  place: number,
  command: Command,
): string | undefined {
  for (const other of state.processes) if (other !== null) other.fenced = true;
  // Who gives --generation means one that is there now, whatever settling makes of it.
  const right = state.store.generations.filter(
    (g) => g.pair === state.service.pair && g.standing !== "superseded",
  );
  const pairs = command.chooses ? right.slice(-1).map((g) => g.number) : [];
  state.processes[place] = { ...idle, at: "intent", command, pairs };
  const open = openOf(state.store);
  if (command.do === "ack") return beginAck(state, place, command, open);
  const settle = client.toSettle(state.store, command);
  if (settle === "by the start") return choose(client, state, place);
  if (settle !== "acknowledge" || open === undefined) return finish(state, place, settle);
  Object.assign(state.processes[place] ?? {}, {
    at: "ending",
    purpose: "left",
    ...tokenOf(state.store, open),
  });
  return undefined;
}

/** The token is read once, and in memory from then on. */
const tokenOf = (store: Store, open: Exchange): Pick<Process, "exchange" | "offered"> => ({
  exchange: open.id,
  offered: generationOf(store, open.next)?.pair ?? null,
});

function beginAck(
  state: State,
  place: number,
  { unread, saved }: Command,
  open: Exchange | undefined,
): string | undefined {
  if (open === undefined)
    return finish(
      state,
      place,
      state.store.exchanges.at(-1)?.state === "acknowledged" ? "ok" : "nothing",
    );
  if (open.state === "in-doubt") return finish(state, place, "in-doubt");
  if (open.state !== "ending") {
    if (open.operation === "get" && open.limited && !open.delivered && !unread)
      return finish(state, place, "pending");
    if (open.saveOwed && !saved) return finish(state, place, "pending");
  }
  if (unread) open.seen = true;
  Object.assign(state.processes[place] ?? {}, {
    at: "ending",
    purpose: "ack",
    ...tokenOf(state.store, open),
  });
  return undefined;
}

/** The credentials to start with, anew after each refusal; --force also sends what was refused, and a chosen one that is superseded. */
export function choose(client: Client, state: State, place: number): string | undefined {
  const { store } = state;
  const process = state.processes[place] as Process;
  const { chooses, force } = process.command;
  const forced = force === true;
  const isSent = (number: number): boolean =>
    forced || generationOf(store, number)?.standing !== "superseded";
  const wanted = chooses
    ? process.pairs.filter((number) => generationOf(store, number) !== undefined && isSent(number))
    : client.candidates(store);
  // The chosen ones may have been superseded by what was acknowledged first; the guard speaks before that.
  if (wanted.length === 0) {
    const isGuarded = !forced && client.guardRefuses(store);
    return finish(state, place, isGuarded ? "guard" : "no-credentials");
  }
  const fresh = wanted.filter((number) => !isRefused(store, number));
  const all = forced ? [...fresh, ...wanted.filter((number) => isRefused(store, number))] : fresh;
  const pairs = all.filter((number) => !process.tried.includes(number));
  const isFirst = process.tried.length === 0;
  if (pairs.length === 0) return finish(state, place, isFirst ? "guard" : "rejected");
  // Nothing more is sent to a vault that the last refusal has locked, or could lock with the next one.
  const { failed, possibly } = counted(store);
  const isLocked = failed - possibly >= lockAt.failed;
  if (!isFirst && (isLocked || (!forced && client.guardRefuses(store))))
    return finish(state, place, "rejected");
  // One failed attempt is left before the last: where there is more than one candidate, a person chooses.
  if (!forced && !chooses && client.isForAPerson(store, pairs))
    return finish(state, place, isFirst ? "guard" : "rejected");
  Object.assign(process, { purpose: "own", exchange: null, offered: null, pairs, forced });
  return tryStart(client, state, place);
}

/** Before each start that is sent, repetitions included. */
export function tryStart(client: Client, state: State, place: number): string | undefined {
  const process = state.processes[place] as Process;
  if (!process.forced && client.guardRefuses(state.store, process.command))
    return finish(state, place, "guard");
  const at = !process.forced && client.isOpen(state.store) ? "trial" : "intent";
  // A start without an outcome opens it.
  if (at === "trial") state.store.breaker.isOpen = true;
  Object.assign(process, { at, reply: null, late: false, exchange: null, trial: null });
  return undefined;
}

/** What a refusal names as the next thing to do. By hand: `differentWays` compares it with the program's table. */
export type Way =
  | "get"
  | "get --discard-pending"
  | "update --discard-pending"
  /** Of the candidates that were not refused, which are listed: if the right one is among them. */
  | "get --generation N"
  | "get --generation N --force"
  | "ack"
  | "ack --saved"
  | "ack --unread"
  | "ack --unread --saved"
  | "import"
  /** If an administrator has unlocked the vault. */
  | "guard --reset"
  /** If the audit log shows none of the unanswered starts. */
  | "guard --reset --unanswered"
  /** What the audit log shows. */
  | "guard --reset --failed N --starts N";

/** The ways on after a command that has ended with this code, the best first: none may lead back to the same with nothing changed. */
export function waysOn(client: Client, store: Store, code: string): Way[] {
  const open = openOf(store);
  if (code === "locked")
    return open?.state === "ending" ? ["guard --reset", "ack"] : ["guard --reset"];
  const isUndelivered = open?.operation === "get" && !open.delivered;
  const isUnread = isUndelivered && open.limited;
  if (open?.state === "ending") return ["ack"];
  if (open?.state === "held") {
    const isRefused = client.guardRefuses(store);
    const anew: Way[] = isRefused
      ? guardedWays(client, store)
      : [`${open.operation} --discard-pending`];
    if (isUnread) return [...anew, open.saveOwed ? "ack --unread --saved" : "ack --unread"];
    const ack = open.saveOwed ? "ack --saved" : "ack";
    // What nobody has received is read again first.
    return isUndelivered && !isRefused ? [...anew, ack] : [ack, ...anew];
  }
  if (open?.state === "started") {
    if (!isUnread) return ["ack"];
    return client.guardRefuses(store) ? ["ack --unread"] : ["get", "ack --unread"];
  }
  if (client.guardRefuses(store)) return guardedWays(client, store);
  const fresh = client.candidates(store).filter((number) => !isRefused(store, number));
  if (fresh.length === 0) return ["import"];
  if (!client.isForAPerson(store, fresh)) return ["get"];
  const without = withoutUnanswered(store);
  const reset = client.isForAPerson(without, fresh)
    ? []
    : (["guard --reset --unanswered"] as const);
  return [...reset, "get --generation N", "import"];
}

/** Past the guard, of which a person knows by the audit log which one is right. */
function guardedWays(client: Client, store: Store): Way[] {
  const shown = "guard --reset --failed N --starts N";
  const without = withoutUnanswered(store);
  const { failed, unacked } = counted(without);
  if (failed >= lockAt.failed || unacked >= lockAt.unacked) return ["guard --reset", shown];
  // Of what was refused only other credentials lead on, whatever the counters are.
  if (client.candidates(store).every((number) => isRefused(store, number)))
    return ["import", shown];
  if (!client.guardRefuses(without)) return ["guard --reset --unanswered", shown];
  // One start more is the one that locks, whatever it sends.
  if (counted(store).unacked + 1 >= lockAt.unacked) return [shown, "get --generation N --force"];
  // What was not refused may be wrong as well.
  return [shown, "import", "get --generation N --force"];
}
