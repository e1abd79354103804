import type { Command, Exchange, Point, Process, State, Store } from "./state.ts";
import { generationOf, openOf } from "./state.ts";
import { lockAt } from "./service-part.ts";

/** The decisions of a process, as DESIGN has them; what is wrong on purpose (flaws.ts) replaces one of them. */
export interface Client {
  /** From a success to the end call. */
  afterSuccess: readonly Point[];
  /** What a new start does about an exchange that was left; anything else is the exit code without a request. */
  toSettle(store: Store, command: Command): string;
  /** Numbers of the generations to start with; more than one in doubt only. */
  candidates(store: Store): number[];
  /** One more start could be the one that locks. */
  guardRefuses(store: Store): boolean;
  mayRepeat(store: Store): boolean;
  isUnproven(store: Store, generation: number): boolean;
  /** A definite error about the token, with so many end calls unanswered before. */
  deadToken(before: number): "expire" | "doubt";
}

const failedWouldLock = (store: Store): boolean => store.failed + 1 >= lockAt.failed;

export const client: Client = {
  afterSuccess: ["store", "deliver", "ending", "send-end"],
  toSettle(store, { do: operation, discard, force }) {
    const open = openOf(store);
    if (open === undefined) return "by the start";
    if (open.state === "ending") return "acknowledge";
    if (open.state === "in-doubt" || discard) return "by the start";
    if (open.state === "held") return "pending";
    if (operation === "update") return "by the start";
    if (open.operation === "update") return "acknowledge";
    if (force || !client.guardRefuses(store)) return "by the start";
    return open.limited ? "guard" : "acknowledge";
  },
  candidates(store) {
    const wasRefused = (number: number): boolean => store.refused.includes(generationOf(store, number)?.pair ?? 0);
    const standing = (wanted: string): number[] =>
      store.generations
        .filter((g) => g.standing === wanted)
        .map((g) => g.number)
        .toReversed();
    const open = openOf(store);
    if (open?.state === "in-doubt" && open.next !== null) return open.ends > 0 ? [open.next, open.base] : [open.base, open.next];
    const [current, imported] = [standing("current"), standing("imported")];
    return [...imported.filter((number) => !wasRefused(number)), ...current, ...imported].slice(0, 1);
  },
  guardRefuses: (store) => failedWouldLock(store) || store.unacked + 1 >= lockAt.unacked,
  mayRepeat: (store) => store.unacked + 1 <= lockAt.unacked - 2 && !failedWouldLock(store),
  isUnproven: (store, number) => generationOf(store, number)?.proven !== true || openOf(store)?.state === "in-doubt",
  deadToken: (before) => (before === 0 ? "expire" : "doubt"),
};

const idle = {
  purpose: "own" as const,
  exchange: null,
  pairs: [],
  unproven: false,
  forced: false,
  tries: 0,
  reply: null,
  offered: null,
  limited: false,
  late: false,
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
export function begin(client: Client, state: State, place: number, command: Command): string | undefined {
  for (const other of state.processes) if (other !== null) other.fenced = true;
  // Who gives --generation means one that is there now, whatever settling makes of it.
  const right = state.store.generations.filter((g) => g.pair === state.service.pair && g.standing !== "superseded");
  const pairs = command.chooses ? right.slice(-1).map((g) => g.number) : [];
  state.processes[place] = { ...idle, at: "intend", command, pairs };
  const open = openOf(state.store);
  if (command.do === "ack") return beginAck(state, place, command, open);
  const settle = client.toSettle(state.store, command);
  if (settle === "by the start") return choose(client, state, place);
  if (settle !== "acknowledge" || open === undefined) return finish(state, place, settle);
  Object.assign(state.processes[place] ?? {}, { at: "ending", purpose: "left", ...tokenOf(state.store, open) });
  return undefined;
}

/** The token is read once, and in memory from then on. */
const tokenOf = (store: Store, open: Exchange): Pick<Process, "exchange" | "offered"> => ({
  exchange: open.id,
  offered: generationOf(store, open.next)?.pair ?? null,
});

function beginAck(state: State, place: number, { unread, saved }: Command, open: Exchange | undefined): string | undefined {
  if (open === undefined) return finish(state, place, state.store.exchanges.at(-1)?.state === "acknowledged" ? "ok" : "nothing");
  if (open.state === "in-doubt") return finish(state, place, "in-doubt");
  if (open.state !== "ending") {
    if (open.operation === "get" && open.limited && !open.delivered && !unread) return finish(state, place, "pending");
    if (open.saveOwed && !saved) return finish(state, place, "pending");
  }
  if (unread) open.seen = true;
  Object.assign(state.processes[place] ?? {}, { at: "ending", purpose: "ack", ...tokenOf(state.store, open) });
  return undefined;
}

/** The pairs to start with; only in doubt is there a second one, and what was refused before is passed over or comes last. */
export function choose(client: Client, state: State, place: number): string | undefined {
  const { store } = state;
  const process = state.processes[place] as Process;
  const chosen = process.pairs.filter((number) => generationOf(store, number)?.standing !== "superseded");
  const wanted = process.command.chooses ? chosen : client.candidates(store);
  if (wanted.length === 0) return finish(state, place, "no-credentials");
  const isRefused = (number: number): boolean => store.refused.includes(generationOf(store, number)?.pair ?? 0);
  const forced = process.command.force === true;
  const fresh = wanted.filter((number) => !isRefused(number));
  const pairs = forced ? [...fresh, ...wanted.filter(isRefused)] : fresh;
  if (pairs.length === 0) return finish(state, place, "guard");
  const unproven = client.isUnproven(store, pairs[0] ?? 0);
  Object.assign(process, { purpose: "own", exchange: null, offered: null, pairs, forced, unproven });
  return tryStart(client, state, place);
}

/** Before each start that is sent, repetitions included. */
export function tryStart(client: Client, state: State, place: number): string | undefined {
  const process = state.processes[place] as Process;
  if (!process.forced && client.guardRefuses(state.store)) return finish(state, place, "guard");
  Object.assign(process, { at: "intend", reply: null, late: false, exchange: null });
  return undefined;
}
