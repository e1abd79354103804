/** What can happen in a state of a model. */
export interface Step<S> {
  /** In words, as the trace of a counter-example shows it. */
  label: string;
  to: S;
  /** A way back into step may be made of these: nothing fails, nobody dies. */
  isFine: boolean;
}

export interface Model<S> {
  initial: readonly S[];
  steps(state: S): Step<S>[];
  /** The same for states that behave alike from here on. */
  key(state: S): string;
  /** What is wrong with a state, or undefined. */
  violation(state: S): string | undefined;
  /** From every state there must be a fine way to such a one. */
  isGoal(state: S): boolean;
}

export interface Explored {
  states: number;
  transitions: number;
  /** What was found to be wrong, with the shortest way to it. */
  violation: string | undefined;
  trace: string[];
}

/**
 * Goes through all states of a model, breadth first, so that the first violation comes with the shortest way to it; after
 * that looks for states without a way to a goal. Throws if there are more states than `most`: then nothing was explored to
 * the end.
 *
 * Our own and not TLC or SPIN: the comparison of the model with the code calls the very functions that are explored here, and a
 * model in another language would have to be compared with a copy of it, by hand. What is needed of a checker is this page.
 */
export function explore<S>(
  model: Model<S>,
  most = 5_000_000,
  visit: (state: S) => void = () => undefined,
): Explored {
  const known = new Map<string, number>();
  const cameFrom: number[] = [];
  const cameBy: string[] = [];
  const fineFrom: number[] = [];
  const fineTo: number[] = [];
  const goals: number[] = [];
  let transitions = 0;
  let found: { violation: string; at: number } | undefined;

  const arrive = (state: S, from: number, label: string): { index: number; isNew: boolean } => {
    const key = model.key(state);
    const before = known.get(key);
    if (before !== undefined) return { index: before, isNew: false };
    const index = known.size;
    if (index >= most) throw new Error(`more than ${most} states: not explored to the end`);
    known.set(key, index);
    cameFrom.push(from);
    cameBy.push(label);
    visit(state);
    if (model.isGoal(state)) goals.push(index);
    const violation = model.violation(state);
    if (violation !== undefined) found ??= { violation, at: index };
    return { index, isNew: true };
  };

  let layer: { state: S; index: number }[] = [];
  for (const state of model.initial)
    layer.push({ state, index: arrive(state, -1, "at first").index });
  while (layer.length > 0 && found === undefined) {
    const next: typeof layer = [];
    for (const { state, index } of layer) {
      for (const { label, to, isFine } of model.steps(state)) {
        transitions += 1;
        const arrived = arrive(to, index, label);
        if (arrived.isNew) next.push({ state: to, index: arrived.index });
        if (isFine) {
          fineFrom.push(index);
          fineTo.push(arrived.index);
        }
      }
    }
    layer = next;
  }
  found ??= strayed(known.size, fineFrom, fineTo, goals);
  const trace: string[] = [];
  for (let at = found?.at ?? -1; at >= 0; at = cameFrom[at] as number)
    trace.unshift(cameBy[at] as string);
  return { states: known.size, transitions, violation: found?.violation, trace };
}

/** The first state from which no fine way leads to a goal. */
function strayed(
  states: number,
  from: readonly number[],
  to: readonly number[],
  goals: readonly number[],
): { violation: string; at: number } | undefined {
  // Predecessors, by counting sort: those of state s stand in `before` from offset[s] to offset[s + 1].
  const offset = new Int32Array(states + 2);
  for (const index of to) offset[index + 2] = (offset[index + 2] as number) + 1;
  for (let index = 2; index < offset.length; index += 1)
    offset[index] = (offset[index] as number) + (offset[index - 1] as number);
  const before = new Int32Array(to.length);
  for (const [edge, index] of to.entries()) {
    const place = offset[index + 1] as number;
    before[place] = from[edge] as number;
    offset[index + 1] = place + 1;
  }
  const leads = new Uint8Array(states);
  const todo = [...goals];
  for (const goal of goals) leads[goal] = 1;
  for (let state = todo.pop(); state !== undefined; state = todo.pop()) {
    for (let place = offset[state] as number; place < (offset[state + 1] as number); place += 1) {
      const previous = before[place] as number;
      if (leads[previous] === 1) continue;
      leads[previous] = 1;
      todo.push(previous);
    }
  }
  const at = leads.findIndex((led) => led === 0);
  return at < 0 ? undefined : { violation: "no way leads back into step from here", at };
}
