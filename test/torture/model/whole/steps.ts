import type { Step } from "../checker.ts";
import type { Rules } from "./model.ts";
import type { Operation, Place, Running, Scene, Sealed, World } from "./state.ts";
import {
  edit,
  isEmpty,
  isLive,
  letters,
  machineAt,
  paths,
  placeAt,
  placesOf,
  shared,
} from "./state.ts";

export interface WholeBounds {
  name: string;
  scene: Scene;
  operations: readonly Operation[];
  left: World["left"];
}

/** What a machine does in one step; nothing where it cannot go on yet. */
type Act = (
  rules: Rules,
  world: World,
  machine: number,
  running: Running,
  place: Place,
) => Outcome | undefined;
/** Where it goes on, or how it ended. A commit may be without an answer. */
type Outcome = { to: string } | { end: string } | { committed: string; unanswered: string };

const end = (code: string): Outcome => ({ end: code });
const go = (to: string): Outcome => ({ to });
const copyOf = (vaults: Sealed[][]): Sealed[][] =>
  vaults.map((pairs) => pairs.map((pair) => ({ ...pair })));
const add = (pairs: Sealed[], pair: Sealed): void => {
  if (!pairs.some((each) => each.pair === pair.pair && each.key === pair.key))
    pairs.push({ ...pair });
};
const isBusy = (rules: Rules, place: Place): boolean =>
  rules.gateHolds && (place.gate !== null || place.transaction !== null);

/** A vault is read: a lease, the new pair durable (②), the end call. */
const get: Record<string, Act> = {
  lease(rules, world, machine, running, place) {
    if (!isLive(place)) return end("state");
    if (isBusy(rules, place) || place.lease !== null) return end("busy");
    if (!machineAt(world, machine).keys.includes(place.key)) return end("state");
    place.lease = machine;
    Object.assign(running, { epoch: place.epoch, key: place.key });
    return go("started");
  },
  started(rules, world, _machine, running, place) {
    if (rules.gateHolds && place.transaction !== null) return undefined;
    if (place.epoch !== running.epoch) return end("state");
    const vault = world.service.findIndex((pair, at) =>
      place.vaults[at]?.some((each) => each.pair === pair),
    );
    if (vault < 0) return end("rejected");
    running.pair = world.fresh += 1;
    running.token = vault;
    add(place.vaults[vault] as Sealed[], { pair: running.pair, key: running.key });
    return go("end");
  },
  end(_rules, world, machine, running, place) {
    world.service[running.token] = running.pair;
    if (place.lease === machine && place.epoch === running.epoch) place.lease = null;
    return end("ok");
  },
};

/** The gate, and the transaction with its look at what is there: the same for every operation on the whole state. */
const gate: Act = (rules, _world, _machine, running, place) => {
  if (rules.oneTransaction && place.transaction !== null) return undefined;
  if (!isLive(place))
    return running.operation === "move" && place.fence !== null ? go("begin") : end("state");
  if (rules.gateHolds && place.gate !== null) return end("busy");
  place.gate = running.token;
  return go("begin");
};

const begin: Act = (rules, world, machine, running, place) => {
  if (rules.oneTransaction && place.transaction !== null) return undefined;
  if (rules.gateHolds && place.gate !== running.token && place.fence === null) return end("busy");
  if (rules.waitsForLeases && place.lease !== null) return undefined;
  const key = running.read?.key ?? place.key;
  if (!machineAt(world, machine).keys.includes(key)) return end("state");
  if (rules.oneTransaction) place.transaction = running.token;
  running.read = { vaults: copyOf(place.vaults), key };
  return go("write");
};

/** The end of a transaction: gone, or committed with what it has written. */
function commit(rules: Rules, running: Running, place: Place, write: () => void): boolean {
  if (rules.oneTransaction && place.transaction !== running.token) return false;
  write();
  place.transaction = null;
  if (place.gate === running.token) place.gate = null;
  if (rules.renewsEpochs) {
    place.epoch = running.token;
    place.lease = null;
  }
  return true;
}

const rekeyed: Act = (rules, world, machine, running) => {
  const acting = machineAt(world, machine);
  if (!rules.keepsKeys) acting.keys = acting.keys.filter((key) => key !== running.read?.key);
  return end("ok");
};

const rekey: Record<string, Act> = {
  gate(rules, world, machine, running, place) {
    if (!rules.readsKeyInside && running.read === null) {
      running.read = { vaults: [], key: place.key };
      return go("gate");
    }
    return gate(rules, world, machine, running, place);
  },
  begin(rules, world, machine, running, place) {
    const outcome = begin(rules, world, machine, running, place);
    running.key = world.fresh += 1;
    if (rules.keepsKeyFirst && outcome !== undefined && "to" in outcome)
      machineAt(world, machine).keys.push(running.key);
    return outcome;
  },
  write(rules, _world, _machine, running, place) {
    const read = running.read as { vaults: Sealed[][]; key: number };
    const isWritten = commit(rules, running, place, () => {
      // What another key seals cannot be opened: it comes out as nothing.
      const opened = read.vaults.map((pairs) => pairs.filter(({ key }) => key === read.key));
      place.vaults = opened.map((pairs) => pairs.map(({ pair }) => ({ pair, key: running.key })));
      place.key = running.key;
    });
    return isWritten ? { committed: "written", unanswered: "unanswered" } : go("unanswered");
  },
  written(rules, world, machine, running, place) {
    if (!rules.keepsKeyFirst) machineAt(world, machine).keys.push(running.key);
    return rekeyed(rules, world, machine, running, place);
  },
  unanswered: (rules, ...given) => (rules.keepsKeys ? end("state") : rekeyed(rules, ...given)),
};

const restore: Record<string, Act> = {
  gate,
  begin,
  write(rules, world, _machine, running, place) {
    const isWritten = commit(rules, running, place, () => {
      const kept = rules.merges ? (running.read?.vaults ?? []) : [[], []];
      place.vaults = copyOf(kept);
      for (const [vault, pairs] of (world.backup ?? []).entries())
        for (const { pair } of pairs)
          add(place.vaults[vault] as Sealed[], { pair, key: place.key });
    });
    return isWritten ? { committed: "over", unanswered: "over" } : end("state");
  },
  over: () => end("ok"),
};

const move: Record<string, Act> = {
  gate,
  begin(rules, world, machine, running, place) {
    if (place.fence === null) return begin(rules, world, machine, running, place);
    // An earlier run has fenced it: this one goes on from there, with what is read now.
    running.fence = rules.checksTarget
      ? { ...place.fence }
      : { move: place.fence.move, target: placeAt(world, shared).id };
    return go("target");
  },
  write(rules, world, _machine, running, place) {
    const target = placeAt(world, shared).id;
    const isWritten = commit(
      rules,
      running,
      place,
      () => (place.fence = { move: running.token, target }),
    );
    if (!isWritten) return end("state");
    running.fence = { move: running.token, target };
    return { committed: "target", unanswered: "gone" };
  },
  target(rules, world, _machine, running, place) {
    const { move, target } = running.fence as { move: number; target: number };
    const there = placeAt(world, shared);
    if (there.transaction !== null) return undefined;
    const isTaken =
      there.taken !== null &&
      (rules.knowsMoveById ? there.taken.move === move : there.taken.path === paths[running.place]);
    const isRight = !rules.checksTarget || there.id === target;
    if (!isRight || !isLive(there) || there.tombs.includes(move)) return end("state");
    // Where only the path says so it is taken for the repetition of a move that was interrupted, which writes what it has.
    if (isTaken && rules.knowsMoveById) return go("mark");
    if (rules.checksEmpty && !isTaken && !isEmpty(there)) {
      if (rules.leavesTombstone) there.tombs.push(move);
      return go("open");
    }
    there.vaults = copyOf(place.vaults);
    there.key = place.key;
    there.taken = { move, path: paths[running.place] as string };
    return { committed: "mark", unanswered: rules.keepsFence ? "gone" : "open" };
  },
  mark(_rules, _world, _machine, running, place) {
    const { move } = running.fence as { move: number };
    if (place.fence?.move !== move) return end("state");
    Object.assign(place, { fence: null, moved: move });
    return end("ok");
  },
  open: openFence,
  gone: () => end("state"),
};

function openFence(
  _rules: Rules,
  _world: World,
  _machine: number,
  running: Running,
  place: Place,
): Outcome {
  if (place.fence?.move === running.fence?.move) place.fence = null;
  return end("ok");
}

/** Four at once: who comes second finds what was made. */
const init: Record<string, Act> = {
  gate: (_rules, _world, _machine, _running, place) => (place.id === 0 ? go("make") : end("ok")),
  make(rules, world, _machine, _running, place) {
    if (place.id !== 0 && rules.initLooksAgain) return go("gate");
    Object.assign(place, { id: (world.fresh += 1), vaults: [[], []], taken: null, tombs: [] });
    return end("ok");
  },
};

/** The target of a move does not have it, and never will: everything here counts as unproven from now on. */
const claim: Record<string, Act> = {
  gate(rules, world, _machine, running, place) {
    const { fence, moved } = place;
    const move = moved ?? fence?.move;
    if (move === undefined) return end("nothing");
    const there = placeAt(world, shared);
    if (rules.claimAsks && there.taken?.move === move) return end("the target has it");
    running.fence = fence && { ...fence };
    if (rules.leavesTombstone && there.id === fence?.target) there.tombs.push(move);
    return go("open");
  },
  open(_rules, _world, _machine, { fence }, place) {
    // A move that has begun or ended meanwhile is another matter.
    if (place.fence?.move !== fence?.move) return end("state");
    Object.assign(place, { fence: null, moved: null });
    return end("ok");
  },
};

const operations: Record<Operation, Record<string, Act>> = {
  get,
  rekey,
  restore,
  move,
  init,
  claim,
};

/** All that can happen next. */
export function wholeSteps(rules: Rules, bounds: WholeBounds, world: World): Step<World>[] {
  const found: Step<World>[] = [];
  const put = (label: string, isFine: boolean, change: (to: World) => void): void => {
    const to = edit(world);
    change(to);
    found.push({ label, isFine, to });
  };
  const { left } = world;
  for (const [machine, { running }] of world.machines.entries()) {
    if (running === null) {
      if (left.runs > 0)
        for (const [operation, place] of offered(bounds, world, machine))
          put(...beginning(machine, operation, place));
    } else found.push(...actOf(rules, world, machine, running));
  }
  if (left.faults > 0) happen(world, put);
  const there = placeAt(world, shared);
  // With nothing in it that is not kept in the place that was moved.
  const kept = world.places.flatMap((place) =>
    place === there ? [] : place.vaults.flat().map(({ pair }) => pair),
  );
  if (
    left.drops > 0 &&
    there.transaction === null &&
    there.vaults.flat().every(({ pair }) => kept.includes(pair))
  ) {
    put("somebody drops the shared state", false, (to) => {
      to.left.drops -= 1;
      const nothing = { id: 0, vaults: [[], []], taken: null, tombs: [], lease: null, gate: null };
      Object.assign(placeAt(to, shared), nothing);
    });
  }
  return found;
}

/** What a machine may run, and where. */
function offered(
  { operations, scene }: WholeBounds,
  world: World,
  machine: number,
): [Operation, number][] {
  const places = placesOf(scene, machine);
  const found: [Operation, number][] = [];
  for (const operation of operations) {
    if (operation === "init")
      found.push(
        ...(placeAt(world, shared).id === 0 ? [["init", shared] as [Operation, number]] : []),
      );
    else if (operation !== "get") found.push([operation, places[0] ?? shared]);
    else
      for (const place of places)
        if (isLive(placeAt(world, place)) && !isEmpty(placeAt(world, place)))
          found.push([operation, place]);
  }
  return found;
}

function beginning(
  machine: number,
  operation: Operation,
  place: number,
): [string, boolean, (to: World) => void] {
  const change = (to: World): void => {
    to.left.runs -= 1;
    const token = (to.fresh += 1);
    const nothing = { epoch: 0, read: null, key: 0, pair: 0, fence: null };
    const at = operation === "get" ? "lease" : "gate";
    machineAt(to, machine).running = { operation, at, place, token, ...nothing };
  };
  return [
    `${letters[machine]}: ${operation}${place === shared ? " in the shared state" : ""}`,
    true,
    change,
  ];
}

function actOf(
  rules: Rules,
  world: World,
  machine: number,
  { operation, at }: Running,
): Step<World>[] {
  const found: Step<World>[] = [];
  const label = `${letters[machine]}: ${operation}, ${at}`;
  const take = (isAnswered: boolean): void => {
    const to = edit(world);
    const acting = machineAt(to, machine);
    const running = acting.running as Running;
    const act = operations[operation][at] as Act;
    const outcome = act(rules, to, machine, running, placeAt(to, running.place));
    if (outcome === undefined) return;
    if ("end" in outcome) acting.running = null;
    else if ("to" in outcome) running.at = outcome.to;
    else running.at = isAnswered ? outcome.committed : outcome.unanswered;
    if (!isAnswered && !("committed" in outcome)) return;
    if (!isAnswered) to.left.faults -= 1;
    const said =
      "end" in outcome ? ` (${outcome.end})` : isAnswered ? "" : "; COMMIT without an answer";
    found.push({ label: `${label}${said}`, isFine: isAnswered, to });
  };
  take(true);
  if (world.left.faults > 0) take(false);
  return found;
}

/** Deaths; and what time does to a machine that stalls: its lease and its gate end, its transaction is cut. */
function happen(
  world: World,
  put: (label: string, isFine: boolean, change: (to: World) => void) => void,
): void {
  const fault = (label: string, change: (to: World) => void): void =>
    put(label, false, (to) => {
      to.left.faults -= 1;
      change(to);
    });
  for (const [machine, { running }] of world.machines.entries()) {
    if (running === null) continue;
    fault(`${letters[machine]} dies`, (to) => {
      const dead = machineAt(to, machine).running as Running;
      for (const place of to.places) if (place.transaction === dead.token) place.transaction = null;
      machineAt(to, machine).running = null;
    });
    const at = world.places.findIndex((place) => place.transaction === running.token);
    if (at >= 0)
      fault(
        `the transaction of ${letters[machine]}, which stalls, is cut`,
        (to) => (placeAt(to, at).transaction = null),
      );
  }
  for (const [at, place] of world.places.entries()) {
    // Time costs nothing: whoever is gone is outlived by nobody.
    if (place.lease !== null)
      put(`a lease ends at ${paths[at]}`, true, (to) => (placeAt(to, at).lease = null));
    if (place.gate !== null)
      put(`a gate ends at ${paths[at]}`, true, (to) => (placeAt(to, at).gate = null));
  }
}
