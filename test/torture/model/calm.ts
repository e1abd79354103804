import { begin, isRefused } from "./client.ts";
import { keyOf } from "./keys.ts";
import type { Parts } from "./moves.ts";
import type { Way } from "./next.ts";
import { lockAt } from "./service-part.ts";
import type { Command, State } from "./state.ts";
import { edit, generationOf, openOf } from "./state.ts";
import { isSole } from "./store-part.ts";
import type { Bounds, Reset } from "./world.ts";
import { importPair, reset, steps } from "./world.ts";

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
    if (step.label === "the trial is due") trials += 1;
    ({ to: state, code } = step);
  }
  return { state, code, trials };
}

const get: Command = { name: "get", do: "get" };

/** Once the service answers again, sole credentials are read by plain `get` within one trial interval. */
export function stopped(parts: Parts, bounds: Bounds, state: State): string | undefined {
  const { service, store } = state;
  const [first = 0] = parts.client.candidates(store);
  const isRight = store.generations.some((g) => g.number === first && g.pair === service.pair);
  const hasStart = Math.max(service.unacked, store.unacked) + 1 < lockAt.unacked;
  const isFree = !service.locked && !service.deleted && openOf(store)?.state !== "held";
  if (!isFree || !isRight || !hasStart || !isSole(store, first)) return undefined;
  const { code, trials } = calmly(parts, bounds, state, get);
  if (code !== "ok")
    return `stopped for nothing: the service answers, and a plain get of sole credentials ends with ${code}`;
  return trials > 1 ? "stopped for nothing: a plain get waits for more than one trial" : undefined;
}

/** Following `next` never returns to the same refusal with nothing changed, and ends with the contents. */
export function circle(parts: Parts, bounds: Bounds, from: State): string | undefined {
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
  "get --generation N": { name: "get --generation N", do: "get", chooses: true },
  "get --generation N --force": {
    name: "get --generation N --force",
    do: "get",
    chooses: true,
    force: true,
  },
  ack: { name: "ack", do: "ack" },
  "ack --saved": { name: "ack --saved", do: "ack", saved: true },
  "ack --unread": { name: "ack --unread", do: "ack", unread: true },
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
