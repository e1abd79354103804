import { keyOf } from "./keys.ts";
import { asDesigned, protocol } from "./protocol.ts";
import type { State } from "./state.ts";
import { edit } from "./state.ts";
import type { Bounds, ModelStep } from "./world.ts";

/** A way of the code: from a state in which no process runs, one command or one thing that happens. */
export interface Path {
  from: State;
  steps: ModelStep[];
  /** Transitions that no path before has taken. */
  news: number;
}

/** What the counters mean for the next step, in place of the counters. */
export function withoutCounting(state: State): string {
  const bare = edit(state);
  const { service, store } = bare;
  const { guardRefuses, mayRepeat } = asDesigned.client;
  const verdict = guardRefuses(store) ? 2 : mayRepeat(store) ? 0 : 1;
  Object.assign(service, { failed: Number(service.failed >= 2), unacked: Number(service.unacked >= 4) });
  Object.assign(store, { failed: Number(store.failed >= 2), unacked: verdict });
  return keyOf(bare);
}

const isDeath = ({ label }: ModelStep): boolean => label === "the process dies";

/**
 * Paths that take every transition of a model at least once, one at a time; where `classOf` calls states alike, every
 * transition of one of them. At a death nothing happens in the code: it is taken where a path has nothing else to do.
 */
export function* pathsOver(bounds: Bounds, classOf: (state: State) => string = keyOf): Generator<Path> {
  const model = protocol(bounds);
  const steps = (state: State): ModelStep[] => model.steps(state);
  const covered = new Set<string>();
  const expanded = new Set<string>();
  const quiet: State[] = [...model.initial];
  const known = new Set(quiet.map(keyOf));

  const take = (state: State, { label }: ModelStep): boolean => {
    const name = `${classOf(state)} ${label}`;
    const isNew = !covered.has(name);
    covered.add(name);
    return isNew;
  };
  const isLeft = (state: State, { label }: ModelStep): boolean => !covered.has(`${classOf(state)} ${label}`);
  const isAtRest = ({ processes }: State): boolean => processes.every((process) => process === null);
  const meet = (state: State): void => {
    const key = keyOf(state);
    if (known.has(key)) return;
    known.add(key);
    quiet.push(state);
  };

  /** Everything that can become of a command, with the way to each state that was not known before. */
  function waysFrom(from: State, begun: ModelStep): { at: State; way: ModelStep[] }[] {
    const ways = [{ at: begun.to, way: [begun] }];
    for (const { at, way } of ways) {
      for (const step of steps(at)) {
        const key = keyOf(step.to);
        if (isAtRest(step.to)) meet(step.to);
        else if (!expanded.has(key)) {
          expanded.add(key);
          ways.push({ at: step.to, way: [...way, step] });
        }
      }
    }
    return ways;
  }

  function* run(from: State, way: readonly ModelStep[], at: State): Generator<Path> {
    for (const first of steps(at)) {
      if (isDeath(first) || !isLeft(at, first)) continue;
      const path = [...way, first];
      let [state, news] = [from, 0];
      for (const step of path) {
        news += Number(take(state, step));
        state = step.to;
      }
      while (!isAtRest(state)) {
        const left = steps(state).filter((step) => isLeft(state, step));
        const next = left.find((step) => !isDeath(step)) ?? left[0];
        if (next === undefined) break;
        news += Number(take(state, next));
        path.push(next);
        state = next.to;
      }
      yield { from, steps: path, news };
    }
  }

  for (const from of quiet) {
    for (const step of steps(from)) {
      if (isAtRest(step.to)) {
        meet(step.to);
        if (take(from, step)) yield { from, steps: [step], news: 1 };
        continue;
      }
      const key = keyOf(step.to);
      if (expanded.has(key)) {
        if (take(from, step)) yield { from, steps: [step], news: 1 };
        continue;
      }
      expanded.add(key);
      // The farthest first: on the way there the nearer ones are taken.
      for (const { at, way } of waysFrom(from, step).toReversed()) yield* run(from, way, at);
    }
  }
}
