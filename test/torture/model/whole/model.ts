import type { Model } from "../checker.ts";
import { firstWorld, isLive, keyOf, placeAt, shared, type Place, type World } from "./state.ts";
import { wholeSteps, type WholeBounds } from "./steps.ts";

export function wholeModel(bounds: WholeBounds, rules: Rules = asDesigned): Model<World> {
  return {
    initial: [firstWorld(bounds.scene, bounds.left)],
    steps: (world) => wholeSteps(rules, bounds, world),
    key: keyOf,
    violation,
    // Who has no more runs cannot come back: that is no dead end.
    isGoal: (world) => world.left.runs === 0 || isReadable(world),
  };
}

/** No sequence of operations on the whole state makes credentials unreachable that the service accepts; no state is live twice. */
function violation(world: World): string | undefined {
  const { service, places } = world;
  const there = placeAt(world, shared);
  const pairsOf = ({ vaults }: Place): number[] => vaults.flat().map(({ pair }) => pair);
  const twice = places.find(
    (place) =>
      place !== there &&
      isLive(place) &&
      pairsOf(place).some((pair) => pairsOf(there).includes(pair)),
  );
  if (twice !== undefined) return "live twice: a state that was moved is open again";
  const lost = service.findIndex(
    (pair, vault) =>
      !places.some((place) => isReachable(world, place) && holds(world, place, vault, pair)),
  );
  return lost < 0
    ? undefined
    : `lost: what the service accepts of vault ${lost} is in no place that a command reaches`;
}

/** A fenced place is reached by the same move again, or by `claim`; a moved one only where its target is gone: by `claim`. */
function isReachable(world: World, place: Place): boolean {
  if (place.id === 0) return false;
  const there = placeAt(world, shared);
  if (place.moved !== null) return there.taken?.move !== place.moved;
  return place.fence === null || there.taken?.move !== place.fence.move;
}

/** Sealed with a key that some machine has, which the state names. */
const holds = ({ machines }: World, place: Place, vault: number, pair: number): boolean =>
  place.vaults[vault]?.some(
    (each) =>
      each.pair === pair &&
      each.key === place.key &&
      machines.some(({ keys }) => keys.includes(each.key)),
  ) === true;

const isReadable = (world: World): boolean =>
  world.machines.every(({ running }) => running === null) &&
  world.service.every((pair, vault) =>
    world.places.some((place) => isLive(place) && holds(world, place, vault, pair)),
  );

/** Each explored to the end. */
export const wholeBounds: WholeBounds[] = [
  {
    name: "two machines move into one state",
    scene: "own places",
    operations: ["move", "get"],
    left: { runs: 4, faults: 1, drops: 0 },
  },
  {
    name: "one state that two machines move",
    scene: "one source",
    operations: ["move", "claim", "get"],
    left: { runs: 3, faults: 1, drops: 0 },
  },
  {
    name: "a target that is dropped and made anew",
    scene: "one source",
    operations: ["move", "init", "claim"],
    left: { runs: 4, faults: 1, drops: 1 },
  },
  {
    name: "a target that two machines make",
    scene: "own places",
    operations: ["move", "init", "get"],
    left: { runs: 4, faults: 0, drops: 1 },
  },
  {
    name: "a state that others use",
    scene: "one state",
    operations: ["get", "rekey", "restore"],
    left: { runs: 3, faults: 1, drops: 0 },
  },
];

/** The rules of operations on a whole state: what is wrong on purpose (flaws.ts) turns one of them off. */
export interface Rules {
  /** A lease is taken, and a step of its holder written, only where no gate is closed and no transaction under way. */
  gateHolds: boolean;
  /** An operation stops while a lease is alive. */
  waitsForLeases: boolean;
  /** What is read and what is written are one transaction: one that stalls is there or gone, and nobody writes in between. */
  oneTransaction: boolean;
  /** Every lease gets a new epoch, so that a step of a former holder writes nothing. */
  renewsEpochs: boolean;
  /** A COMMIT without an answer counts neither as done nor as failed: the fence of a move stays. */
  keepsFence: boolean;
  /** `rekey` leaves the former key where it is. */
  keepsKeys: boolean;
  /** The key's id is read inside the transaction. */
  readsKeyInside: boolean;
  /** The new key is kept before anything is sealed with it. */
  keepsKeyFirst: boolean;
  /** `restore` adds, and replaces nothing. */
  merges: boolean;
  /** A move is known by its id, and not by the path from which it came. */
  knowsMoveById: boolean;
  /** The target must be the very state that was named when the source was fenced. */
  checksTarget: boolean;
  /** A target that holds something else is never replaced. */
  checksEmpty: boolean;
  /** `claim` leaves a tombstone in a target that may take the state, before it opens the source. */
  leavesTombstone: boolean;
  /** What another machine has just made is looked at again. */
  initLooksAgain: boolean;
  /** `claim` opens a state only where the target of its move does not have it. */
  claimAsks: boolean;
}

const asDesigned: Rules = {
  gateHolds: true,
  waitsForLeases: true,
  oneTransaction: true,
  renewsEpochs: true,
  keepsFence: true,
  keepsKeys: true,
  readsKeyInside: true,
  keepsKeyFirst: true,
  merges: true,
  knowsMoveById: true,
  checksTarget: true,
  checksEmpty: true,
  leavesTombstone: true,
  initLooksAgain: true,
  claimAsks: true,
};

/** A rule that is left out, where that can be seen, and what comes of it. */
interface WholeFlaw {
  mistake: string;
  in: string;
  breaks: RegExp;
  rules: Rules;
}

const both = "two machines move into one state";
const dropped = "a target that is dropped and made anew";
const others = "a state that others use";
const source = "one state that two machines move";
const made = "a target that two machines make";

const without = (...names: (keyof Rules)[]): Rules => ({
  ...asDesigned,
  ...Object.fromEntries(names.map((name) => [name, false])),
});

export const wholeFlaws: WholeFlaw[] = [
  {
    mistake: "what was read is written although others wrote in between",
    in: others,
    breaks: /^lost/,
    rules: without("oneTransaction", "gateHolds", "waitsForLeases"),
  },
  {
    mistake: "epochs are not renewed",
    in: others,
    breaks: /^lost/,
    rules: without("renewsEpochs"),
  },
  {
    mistake:
      "rekey erases the former key once it has read its id, whatever became of its transaction",
    in: others,
    breaks: /^lost/,
    rules: without("keepsKeys"),
  },
  {
    mistake: "COMMIT without an answer in the target counts as failed, and the source is opened",
    in: source,
    breaks: /^live twice/,
    rules: without("keepsFence"),
  },
  {
    mistake: "the key's id is read before the transaction",
    in: others,
    breaks: /^lost/,
    rules: without("readsKeyInside"),
  },
  {
    mistake: "the new key is kept only once everything is sealed with it",
    in: others,
    breaks: /^lost/,
    rules: without("keepsKeyFirst"),
  },
  {
    mistake: "restore replaces what is there",
    in: others,
    breaks: /^lost/,
    rules: without("merges"),
  },
  {
    mistake: "places are compared by path",
    in: both,
    breaks: /^(lost|live twice)/,
    rules: without("knowsMoveById"),
  },
  {
    mistake: "a target that holds something is replaced",
    in: both,
    breaks: /^(lost|live twice)/,
    rules: without("checksEmpty"),
  },
  {
    mistake: "the target is not compared by its state id",
    in: dropped,
    breaks: /^live twice/,
    rules: without("checksTarget"),
  },
  {
    mistake: "claim looks, and leaves no tombstone",
    in: source,
    breaks: /^live twice/,
    rules: without("leavesTombstone"),
  },
  {
    mistake: "init makes anew what another machine has made",
    in: made,
    breaks: /^lost/,
    rules: without("initLooksAgain"),
  },
  {
    mistake: "claim opens a state that its target holds",
    in: dropped,
    breaks: /^live twice/,
    rules: without("claimAsks"),
  },
];
