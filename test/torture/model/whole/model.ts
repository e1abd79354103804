import type { Model } from "../checker.ts";
import type { Rules } from "./rules.ts";
import { asDesigned } from "./rules.ts";
import type { Place, World } from "./state.ts";
import { firstWorld, isLive, keyOf, placeAt, shared } from "./state.ts";
import type { WholeBounds } from "./steps.ts";
import { wholeSteps } from "./steps.ts";

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

/** A fenced place is reached by the same move again, or by --cancel; a moved one only where its target is gone: by `claim`. */
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
    operations: ["move", "cancel", "get"],
    left: { runs: 3, faults: 1, drops: 0 },
  },
  {
    name: "a target that is dropped and made anew",
    scene: "one source",
    operations: ["move", "cancel", "init", "claim"],
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
