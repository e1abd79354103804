import type { Step } from "./checker.ts";
import { begin, close } from "./client.ts";
import type { Parts } from "./moves.ts";
import * as moves from "./moves.ts";
import { lockAt, serviceEnd, serviceStart } from "./service.ts";
import type { Command, EndReply, Point, Process, StartReply, State } from "./state.ts";
import { edit, exchangeOf, generationOf, openOf } from "./state.ts";
import { withoutUnanswered } from "./store.ts";

/** What may happen, and how much of it. */
export interface Bounds {
  name: string;
  commands: readonly Command[];
  processes: number;
  /** Reads of a limited vault; null without limit. */
  uses: number | null;
  /** What the service answers to the repetition of an acknowledged end call; both where it is null. */
  idempotentEnd: boolean | null;
  /** A process can begin although another one is at work. */
  lockBreaks?: true;
  /** A call is answered, is lost on one of its ways, or draws an unknown error; and then no time is left. */
  fewFaults?: true;
  /** So many steps in which something goes wrong, at most, from the first state on. */
  mishaps?: number;
  /** Nothing is counted, so nothing locks and the guard refuses nothing: there is more that can happen, in fewer states. */
  uncounted?: true;
  /** Pairs that were imported and are not proven, at most. */
  imports?: number;
  /** Somebody else starts with the same credentials, and the recovery document is imported here. */
  documents?: true;
  /** An error about something else is taken for one about the credentials. */
  misread?: true;
  /** A save command can fail. */
  saves?: true;
  /** Others use the vault too, with wrong pairs: our records do not cover all requests. */
  strangers?: true;
  /** A request that was believed lost can arrive later. */
  delays?: true;
  /** What stands in front of the service, and loses starts; without it no probe was ever answered. */
  gateway?: "answers probes" | "is silent";
}

export type ModelStep = Step<State> & {
  /** Where a process acted: the place, and its exit code if it is done. */
  place?: number;
  /** It has begun with this. */
  command?: Command;
  code?: string | undefined;
};

/** All that can happen next. */
export function steps(parts: Parts, bounds: Bounds, state: State): ModelStep[] {
  const found: ModelStep[] = [];
  const add = (label: string, isFine: boolean, change: (state: State) => void): void => {
    const to = edit(state);
    change(to);
    found.push({ label, isFine, to });
  };
  for (const [place, process] of state.processes.entries()) {
    if (process === null) found.push(...beginnings(parts, bounds, state, place));
    else found.push(...act(parts, bounds, state, place, process));
  }
  if (state.service.open !== null)
    add("the token dies", false, (to) => void (to.service.open = null));
  const { delayed } = state;
  if (delayed !== null) {
    add("a request of before arrives", false, (to) => {
      to.delayed = null;
      if ("end" in delayed) serviceEnd(to.service, delayed.end, bounds.idempotentEnd ?? false);
      else serviceStart(to.service, delayed.start, delayed.operation, (to.fresh += 1));
    });
  }
  if (bounds.strangers) {
    add(
      "somebody else sends a wrong pair",
      false,
      (to) => void serviceStart(to.service, -1, "get", 0),
    );
    if (!state.service.locked)
      add("an administrator locks the vault", false, (to) => (to.service.locked = true));
  }
  if (state.processes.every((process) => process === null))
    found.push(...whileFree(parts, bounds, state));
  return found;
}

function beginnings(parts: Parts, bounds: Bounds, state: State, place: number): ModelStep[] {
  if (!bounds.lockBreaks && state.processes.some((process) => process !== null)) return [];
  if (state.processes.indexOf(null) !== place) return [];
  const isOffered = ({ careful, lapsed }: Command): boolean =>
    (careful !== true || !parts.client.guardRefuses(state.store)) &&
    (lapsed !== true || openOf(state.store)?.state === "held");
  return bounds.commands.filter(isOffered).map((command) => {
    const to = edit(state);
    const code = begin(parts.client, to, place, command);
    return { label: `vault ${command.name}`, isFine: true, to, place, command, code };
  });
}

export type Reset =
  "guard --reset" | "guard --reset --unanswered" | "guard --reset --failed N --starts N";

/** What a person does who has read the service's audit log, or who is its administrator. */
export function reset(parts: Parts, to: State, how: Reset): void {
  const { service } = to;
  if (how === "guard --reset") Object.assign(service, { locked: false, failed: 0, unacked: 0 });
  const shown = { failed: service.failed, unacked: service.unacked };
  parts.steps.guardReset(
    to.store,
    how === "guard --reset" ? "all" : how === "guard --reset --unanswered" ? "unanswered" : shown,
  );
  if (how === "guard --reset --unanswered") {
    close(to.store);
    to.truth.isSilent = false;
  }
  // Whose audit log shows starts that have arrived.
  if (how === "guard --reset --failed N --starts N")
    Object.assign(to.truth, { isSet: true, isSilent: to.store.breaker.isOpen });
}

/** Which of these helps where nothing else does, by what has truly happened. */
function neededReset({ client }: Parts, { service, store, truth }: State): Reset | undefined {
  if (service.deleted) return undefined;
  const isLast = service.failed + 1 >= lockAt.failed || service.unacked + 1 >= lockAt.unacked;
  if (service.locked || (isLast && client.guardRefuses(store))) return "guard --reset";
  if (!client.guardRefuses(store)) return undefined;
  const without = withoutUnanswered(store);
  return truth.hasArrived || client.guardRefuses(without)
    ? "guard --reset --failed N --starts N"
    : "guard --reset --unanswered";
}

/** What a person does with the lock of the vault in hand, all at once. */
function whileFree(parts: Parts, bounds: Bounds, state: State): ModelStep[] {
  const found: ModelStep[] = [];
  const add = (label: string, isFine: boolean, change: (state: State) => void): void => {
    const to = edit(state);
    change(to);
    found.push({ label, isFine, to });
  };
  const how = neededReset(parts, state);
  if (how !== undefined)
    add(
      how === "guard --reset" ? `an administrator unlocks the vault, and ${how}` : how,
      true,
      (to) => reset(parts, to, how),
    );
  if (bounds.imports === undefined) return found;
  const record = (label: string, isFine: boolean, pair: (to: State) => number): void =>
    add(label, isFine, (to) => importPair(parts, to, pair(to)));
  const unproven = state.store.generations.filter((g) => g.standing === "imported" && !g.proven);
  if (unproven.length < bounds.imports) {
    if (bounds.documents) found.push(...documentsOfOthers(parts, state));
    else record("import a wrong pair", false, (to) => (to.fresh += 1));
    const given = state.store.generations.filter((g) => g.standing === "void").map((g) => g.pair);
    for (const pair of new Set(given))
      record("import the pair of an exchange that was dropped", false, () => pair);
  }
  return found;
}

export function importPair(parts: Parts, to: State, pair: number): void {
  parts.steps.importPair(to.store, { number: (to.fresh += 1), pair });
  to.truth.refused = to.truth.refused.filter((refused) => refused !== pair);
}

/** Somebody else starts, and may acknowledge; before or after that the recovery document is imported. */
function documentsOfOthers(parts: Parts, state: State): ModelStep[] {
  const { locked, deleted, unacked } = state.service;
  if (locked || deleted || unacked + 1 >= lockAt.unacked) return [];
  return [false, true].map((isOver) => {
    const to = edit(state);
    const [exchange, offered, base, next] = [1, 2, 3, 4].map((place) => state.fresh + place) as [
      number,
      number,
      number,
      number,
    ];
    to.fresh += 4;
    const old = to.service.pair;
    serviceStart(to.service, old, "get", offered);
    if (isOver) serviceEnd(to.service, offered, false);
    parts.steps.importDocument(
      to.store,
      { exchange, operation: "get", old, new: offered, unread: false },
      [base, next],
    );
    // Only the last exchange is looked at for a start without an outcome, and others reach the service.
    to.truth.isSilent = to.store.breaker.isOpen;
    return {
      label: `somebody else starts${isOver ? " and acknowledges" : ""}; import the recovery document`,
      isFine: false,
      to,
    };
  });
}

function act(
  parts: Parts,
  bounds: Bounds,
  state: State,
  place: number,
  process: Process,
): ModelStep[] {
  const found: ModelStep[] = [];
  const go = (
    label: string,
    isFine: boolean,
    change: (to: State, process: Process) => string | undefined,
  ): void => {
    const to = edit(state);
    const code = change(to, to.processes[place] as Process);
    found.push({ label, isFine, to, place, code });
  };
  switch (process.at) {
    case "trial": {
      const answers = bounds.gateway === "answers probes";
      const byTime = parts.client.isTriedByTime(answers);
      if (byTime) go("the trial is due", true, (to) => moves.tried(to, place, "due"));
      else if (answers)
        go("the probe is answered", true, (to) => {
          parts.client.heard(to.store);
          return moves.tried(to, place, "probed");
        });
      const isFine = !byTime && !answers;
      go("no trial goes out while there is time", isFine, (to) => moves.tried(to, place, null));
      break;
    }
    case "send-start":
      sendStart(parts, bounds, state, go);
      break;
    case "deliver":
      go("the contents are delivered", true, (to) => moves.deliver(parts, to, place, "delivered"));
      go("the delivery fails", false, (to) => moves.deliver(parts, to, place, "failed"));
      if (bounds.saves)
        go("the save command fails", false, (to) => moves.deliver(parts, to, place, "save-failed"));
      break;
    case "send-end":
      sendEnd(parts, bounds, place, go);
      break;
    case "intent":
    case "start-answered":
    case "started":
    case "held":
    case "ending":
    case "end-answered":
      go(wordsFor(process), true, (to) => moves.writeNext(parts, to, place));
  }
  go("the process dies", false, (to) => moves.die(to, place));
  return found;
}

function wordsFor({ at, reply }: Process): string {
  const words: Partial<Record<Point, string>> = {
    intent: "① intent",
    started: "② started",
    held: "held",
    ending: "③ ending",
  };
  if (at === "start-answered") return `the start: ${reply}`;
  return words[at] ?? (reply === "success" ? "④ acknowledged" : `the end call: ${reply}`);
}

type Go = (
  label: string,
  isFine: boolean,
  change: (to: State, process: Process) => string | undefined,
) => void;

/** What the network makes of a call: `processed` is what the service has done where the answer is lost. */
function networkFails(
  bounds: Bounds,
  reply: (
    label: string,
    isFine: boolean,
    late: boolean,
    of: (to: State, process: Process) => StartReply & EndReply,
  ) => void,
  processed: (to: State, process: Process) => void,
): void {
  for (const late of bounds.fewFaults ? [true] : [false, true]) {
    reply("lost before the service", false, late, () => "no-answer");
    reply("its answer is lost", false, late, (to, process) => {
      processed(to, process);
      return "no-answer";
    });
    if (bounds.fewFaults) continue;
    reply("not sent", false, late, () => "not-sent");
    reply("429", false, late, () => "rate");
  }
}

/** What the network and the service make of a start. */
function sendStart(parts: Parts, bounds: Bounds, state: State, go: Go): void {
  const reply = (
    label: string,
    isFine: boolean,
    late: boolean,
    of: (to: State, process: Process) => StartReply,
  ): void =>
    go(`POST start: ${label}${late ? ", and no time is left" : ""}`, isFine, (to, process) => {
      Object.assign(process, { reply: of(to, process), late });
      moves.startReplied(parts, to, process);
      return undefined;
    });
  const arrive = (to: State, process: Process): StartReply => {
    const pair = generationOf(to.store, process.pairs[0] ?? null)?.pair ?? 0;
    const offered = (to.fresh += 1);
    const said = serviceStart(
      to.service,
      pair,
      process.command.do === "update" ? "update" : "get",
      offered,
    );
    if (said === "success") Object.assign(process, { offered, limited: to.service.uses !== null });
    const intent = exchangeOf(to.store, process.exchange);
    if (intent !== undefined) intent.arrived = said === "success" || said === "refused";
    return said;
  };
  reply("answered", true, false, arrive);
  networkFails(bounds, reply, (to, process) => {
    arrive(to, process);
    process.offered = null;
  });
  reply("an unknown error", false, false, () => "unknown");
  if (!bounds.fewFaults) reply("an error about the application", false, false, () => "application");
  if (bounds.misread) reply("an error that is taken for a refusal", false, false, () => "refused");
  if (bounds.delays && state.delayed === null) {
    reply("on its way for long", false, true, (to, process) => {
      const start = generationOf(to.store, process.pairs[0] ?? null)?.pair ?? 0;
      to.delayed = { start, operation: process.command.do === "update" ? "update" : "get" };
      return "no-answer";
    });
  }
  if (bounds.fewFaults) return;
  reply("a success without credentials", false, false, (to, process) => {
    const said = arrive(to, process);
    process.offered = null;
    return said === "success" ? "unusable" : said;
  });
}

const unsettled = ["lost before the service", "its answer is lost"];

/** What the network and the service make of an end call. */
function sendEnd(parts: Parts, bounds: Bounds, place: number, go: Go): void {
  const reply = (
    label: string,
    isFine: boolean,
    late: boolean,
    of: (to: State, process: Process) => EndReply,
  ): void => {
    for (const stale of [false, true]) {
      const then = stale
        ? ", and the token is past its expiry"
        : late
          ? ", and no time is left"
          : "";
      // Our clock says something only where the service does not.
      if (stale && (late || !unsettled.includes(label))) continue;
      go(`PUT end: ${label}${then}`, isFine, (to, process) => {
        Object.assign(process, { reply: of(to, process), late: late || stale, stale });
        return moves.endReplied(parts, to, place);
      });
    }
  };
  const arrive = (to: State, process: Process, idempotent: boolean): EndReply =>
    serviceEnd(to.service, process.offered ?? 0, idempotent);
  const kinds = bounds.idempotentEnd === null ? [false, true] : [bounds.idempotentEnd];
  for (const idempotent of kinds) {
    reply(
      `answered${kinds.length > 1 && idempotent ? ", a repetition as before" : ""}`,
      true,
      false,
      (to, process) => arrive(to, process, idempotent),
    );
  }
  networkFails(bounds, reply, (to, process) => void arrive(to, process, false));
  reply("an unknown error", false, false, () => "token");
  if (!bounds.fewFaults) reply("an error about the application", false, false, () => "application");
  if (bounds.delays) {
    reply("on its way for long", false, true, (to, process) => {
      to.delayed ??= { end: process.offered ?? 0 };
      return "no-answer";
    });
  }
}
