import { choose, finish, noteStart, tryStart, type Client } from "./client.ts";
import type { Point, Process, State, Store } from "./state.ts";
import { exchangeOf, generationOf } from "./state.ts";
import { NotTaken, type StoreSteps } from "./store.ts";

/** What the model is put together from. */
export interface Parts {
  client: Client;
  steps: StoreSteps;
  /** Writes of a process whose lock was taken by another one are refused. */
  isFenced: boolean;
}

/** One transaction of a process. Returns the exit code if it is refused: then the process stops and sends nothing. */
function write(
  parts: Parts,
  state: State,
  place: number,
  change: (steps: StoreSteps, store: Store) => void,
): string | undefined {
  const process = state.processes[place] as Process;
  if (process.fenced && parts.isFenced) return finish(state, place, "state");
  try {
    change(parts.steps, state.store);
    return undefined;
  } catch (error) {
    if (!(error instanceof NotTaken)) throw error;
    if (!process.fenced)
      state.fault = `a write was refused to a process that holds the vault, at ${process.at}`;
    return finish(state, place, "state");
  }
}

/** On to what follows a point on the way from a success to the end call. */
function onward({ client }: Parts, process: Process): void {
  process.at = client.afterSuccess[client.afterSuccess.indexOf(process.at) + 1] ?? "end-answered";
}

/** The breaker lets a trial out, or does not while there is time. */
export function tried(state: State, place: number, trial: Process["trial"]): string | undefined {
  if (trial === null) return finish(state, place, "network");
  Object.assign(state.processes[place] as Process, { at: "intent", trial });
  return undefined;
}

/** ①. It is noted as an exchange of its own for every start that is sent. */
function intent(parts: Parts, state: State, place: number): string | undefined {
  const process = state.processes[place] as Process;
  const id = (state.fresh += 1);
  const { command, pairs } = process;
  const operation = command.do === "update" ? "update" : "get";
  const code = write(parts, state, place, (steps, store) => {
    steps.intent(store, { id, operation, base: pairs[0] ?? 0 });
  });
  if (code !== undefined) return code;
  Object.assign(process, { at: "send-start", exchange: id });
  return undefined;
}

/** An answer to the start, or none, has come. */
export function startReplied(parts: Parts, state: State, process: Process): void {
  noteStart(state, process);
  process.at =
    process.reply === "success" ? (parts.client.afterSuccess[0] ?? "started") : "start-answered";
}

/** What is written of a start that was not accepted, and what follows. */
function startAnswered(parts: Parts, state: State, place: number): string | undefined {
  const process = state.processes[place] as Process;
  const id = process.exchange ?? 0;
  const { reply, late } = process;
  if (reply === "refused" && !process.fenced)
    state.truth.refused.push(generationOf(state.store, process.pairs[0] ?? null)?.pair ?? 0);
  const refused = write(parts, state, place, (steps, store) => {
    if (reply === "not-sent" || reply === "rate" || reply === "application")
      steps.takenBack(store, id);
    else if (reply === "refused" || reply === "locked" || reply === "gone")
      steps.refused(store, id, reply === "refused");
    else steps.noWholeAnswer(store, id, reply === "unusable");
  });
  if (refused !== undefined) return refused;
  switch (reply) {
    case "not-sent":
      return late ? finish(state, place, "network") : tryStart(parts.client, state, place);
    case "rate":
      return late ? finish(state, place, "rate-limited") : tryStart(parts.client, state, place);
    case "application":
      return finish(state, place, "unauthorized");
    case "no-answer": {
      const mayRepeat =
        !process.repeated && parts.client.mayRepeat(state.store, process.pairs[0] ?? 0);
      if (late || !mayRepeat) return finish(state, place, "network");
      process.repeated = true;
      return tryStart(parts.client, state, place);
    }
    case "refused": {
      process.tried.push(process.pairs[0] ?? 0);
      if (process.command.chooses || process.tried.length >= 2)
        return finish(state, place, "rejected");
      process.repeated = false;
      return choose(parts.client, state, place);
    }
    case "locked":
    case "gone":
      return finish(state, place, "locked");
    case "unknown":
    case "unusable":
      return finish(state, place, "service");
    case "success":
    case "token":
    case null:
      throw new Error(`no answer to a start that was not accepted: ${reply}`);
  }
}

/** ② */
function started(parts: Parts, state: State, place: number): string | undefined {
  const process = state.processes[place] as Process;
  const number = (state.fresh += 1);
  const pair = process.offered ?? 0;
  const base = generationOf(
    state.store,
    exchangeOf(state.store, process.exchange)?.base ?? null,
  )?.pair;
  state.truth.refused = state.truth.refused.filter((refused) => refused !== base);
  const code = write(parts, state, place, (steps, store) => {
    steps.started(store, process.exchange ?? 0, {
      number,
      pair,
      limited: process.limited || store.limited,
      elsewhere: process.command.out === true,
    });
  });
  if (code === undefined) onward(parts, process);
  return code;
}

/** The contents are handed over, or are not: then the exchange waits for a decision. */
export function deliver(
  parts: Parts,
  state: State,
  place: number,
  outcome: "delivered" | "failed" | "save-failed",
): undefined {
  const process = state.processes[place] as Process;
  const exchange = exchangeOf(state.store, process.exchange);
  if (outcome !== "failed" && exchange !== undefined) exchange.seen = true;
  process.hold =
    outcome === "delivered"
      ? null
      : { delivered: outcome === "save-failed", saveOwed: outcome === "save-failed" };
  if (process.hold === null && process.command.noAck)
    process.hold = { delivered: true, saveOwed: false };
  if (process.hold === null) onward(parts, process);
  else process.at = "held";
}

function held(parts: Parts, state: State, place: number): string | undefined {
  const { exchange, hold, command } = state.processes[place] as Process;
  const facts = hold ?? { delivered: false, saveOwed: false };
  const wasAsked = command.noAck === true && facts.delivered && !facts.saveOwed;
  return (
    write(parts, state, place, (steps, store) => steps.held(store, exchange ?? 0, facts)) ??
    finish(state, place, wasAsked ? "ok" : "pending")
  );
}

/** ③ */
function ending(parts: Parts, state: State, place: number): string | undefined {
  const process = state.processes[place] as Process;
  const exchange = exchangeOf(state.store, process.exchange);
  process.before = exchange?.ends ?? 0;
  const delivered =
    process.purpose === "own" || (process.purpose === "ack" && exchange?.delivered === true);
  const code = write(parts, state, place, (steps, store) =>
    steps.ending(store, process.exchange ?? 0, delivered),
  );
  if (code === undefined) onward(parts, process);
  return code;
}

/** An answer to the end call, or none, has come. One that is none settles nothing, and nothing is written while the token lives. */
export function endReplied(_parts: Parts, state: State, place: number): string | undefined {
  const process = state.processes[place] as Process;
  if (process.reply !== "no-answer" || process.stale) {
    process.at = "end-answered";
    return undefined;
  }
  return process.late ? finish(state, place, "pending") : again(process);
}

function again(process: Process): undefined {
  Object.assign(process, { at: "ending", reply: null, late: false, stale: false });
}

/** ④, or what else the answer settles. */
function endAnswered(parts: Parts, state: State, place: number): string | undefined {
  const process = state.processes[place] as Process;
  const id = process.exchange ?? 0;
  const { reply, before, late } = process;
  const settled =
    reply === "no-answer"
      ? "inDoubt"
      : parts.client.deadToken(state.store, process.exchange, before);
  const refused = write(parts, state, place, (steps, store) => {
    if (reply === "success") steps.acknowledged(store, id);
    else if (reply === "token" || reply === "no-answer") steps[settled](store, id);
    else steps.endSettlesNothing(store, id);
    if (reply !== "no-answer" && reply !== "not-sent") parts.client.heard(store);
  });
  if (refused !== undefined) return reply === "success" ? "pending" : refused;
  if (reply === "application") return finish(state, place, "pending");
  if (reply === "locked") return finish(state, place, "locked");
  if (reply === "rate" || reply === "not-sent")
    return late ? finish(state, place, "pending") : again(process);
  if (process.purpose === "left") return choose(parts.client, state, place);
  if (reply === "success") return finish(state, place, "ok");
  return finish(state, place, settled === "expired" ? "service" : "in-doubt");
}

const writing: Partial<
  Record<Point, (parts: Parts, state: State, place: number) => string | undefined>
> = {
  intent,
  "start-answered": startAnswered,
  started,
  deliver: (parts, state, place) => deliver(parts, state, place, "delivered"),
  held,
  ending,
  "end-answered": endAnswered,
};

export function die(state: State, place: number): string {
  const { at, fenced } = state.processes[place] as Process;
  if (!fenced && at === "send-start") state.truth.isSilent = true;
  return finish(state, place, "died");
}

/** What a process writes where it sends nothing; with no outcome to choose from it delivers. */
export function writeNext(parts: Parts, state: State, place: number): string | undefined {
  const { at } = state.processes[place] as Process;
  const write = writing[at];
  if (write === undefined) throw new Error(`nothing is written at ${at}`);
  return write(parts, state, place);
}
