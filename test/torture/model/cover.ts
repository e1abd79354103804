import { keyOf } from "./keys.ts";
import { protocol } from "./protocol.ts";
import type { State } from "./state.ts";
import { lockAt } from "./service.ts";
import { counted } from "./store.ts";
import type { Bounds, ModelStep } from "./world.ts";

/** A way of the code: from a state in which no process runs, one command or one thing that happens. */
interface Path {
  from: State;
  steps: ModelStep[];
  /** Transitions that no path before has taken. */
  news: number;
}

/**
 * What the program can see of a state: not the service, and of the counters only what they mean for the next start. It
 * cannot but do the same in two states that are alike in this.
 */
export function viewOf(state: State): string {
  const { store } = state;
  const { unacked, unanswered, failed } = counted(store);
  const verdict = unacked + 1 >= lockAt.unacked ? 2 : unacked + 1 <= lockAt.unacked - 2 ? 0 : 1;
  return keyOf({
    ...state,
    service: {
      pair: 0,
      open: null,
      failed: 0,
      unacked: 0,
      locked: false,
      deleted: false,
      uses: null,
    },
    store: {
      ...store,
      carried: {
        unacked: verdict,
        unanswered,
        failed: Math.min(failed, lockAt.failed - 1),
        possibly: 0,
      },
      upTo: store.exchanges.at(-1)?.id ?? null,
    },
  });
}

const isDeath = ({ label }: ModelStep): boolean => label === "the process dies";

/**
 * Paths that take every transition of a model at least once, one at a time; where `classOf` calls states alike, every
 * transition of one of them; what is in `covered` was taken before. At a death nothing happens in the code: it is taken where a path has nothing else to do.
 */
export function* pathsOver(
  bounds: Bounds,
  classOf: (state: State) => string,
  covered = new Set<string>(),
): Generator<Path> {
  const model = protocol(bounds);
  const steps = (state: State): ModelStep[] => model.steps(state);
  const expanded = new Set<string>();
  const quiet: State[] = [...model.initial];
  const known = new Set(quiet.map(keyOf));

  /** A call is taken once with each answer that it can have there. */
  const nameOf = (state: State, { label, to, code }: ModelStep): string =>
    `${classOf(state)} ${label} ${to.processes[0]?.reply ?? ""} ${code ?? ""}`;
  const take = (state: State, step: ModelStep): boolean => {
    const name = nameOf(state, step);
    const isNew = !covered.has(name);
    covered.add(name);
    return isNew;
  };
  const isLeft = (state: State, step: ModelStep): boolean => !covered.has(nameOf(state, step));
  const isAtRest = ({ processes }: State): boolean =>
    processes.every((process) => process === null);
  const meet = (state: State): void => {
    const key = keyOf(state);
    if (known.has(key)) return;
    known.add(key);
    quiet.push(state);
  };

  /** Everything that can become of a command, with the way to each state that was not known before. */
  function waysFrom(begun: ModelStep): { at: State; way: ModelStep[] }[] {
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
      for (const { at, way } of waysFrom(step).toReversed()) yield* run(from, way, at);
    }
  }
}

/** A way through the model of so many steps, each by lot. */
export function walk(bounds: Bounds, length: number, seed: number): Path {
  const model = protocol(bounds);
  const from = model.initial[0] as State;
  const taken: ModelStep[] = [];
  let [state, lot] = [from, seed];
  for (let count = 0; count < length; count += 1) {
    const steps: ModelStep[] = model.steps(state);
    // Of calls that fail there are many kinds, of those that go well one: it is to come up half of the time.
    const fine = steps.filter(({ isFine }) => isFine);
    lot = (lot * 48271) % 2147483647;
    const choice = lot % 2 === 0 && fine.length > 0 ? fine : steps;
    const step = choice[Math.floor(lot / 2) % choice.length];
    if (step === undefined) break;
    taken.push(step);
    state = step.to;
  }
  return { from, steps: taken, news: taken.length };
}
