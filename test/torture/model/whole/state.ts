/**
 * Operations on a whole state by two machines, in small: of a vault only its pairs matter, each a number, and
 * of what seals them the number of the key. A machine may stall or die between any two steps, for longer than every lease and gate.
 */
export interface World {
  /** What the service accepts, for each vault. */
  service: number[];
  /** The own place of each machine, with the same path on both, and a shared one, into which they move. */
  places: Place[];
  machines: Machine[];
  /** What `vault state backup` has written of the shared place. */
  backup: Sealed[][] | null;
  /** The next number for a pair, a key, a state or a token; not part of what tells worlds apart. */
  fresh: number;
  left: Left;
  fault: string | null;
}

export interface Sealed {
  pair: number;
  key: number;
}

export interface Place {
  /** The state's id; 0 where none was made. */
  id: number;
  /** By vault: the pairs that are kept. */
  vaults: Sealed[][];
  /** The key that the state names. */
  key: number;
  epoch: number;
  lease: number | null;
  /** The token of the operation that keeps new leases away. */
  gate: number | null;
  /** The token of the operation whose transaction is under way: steps of others wait for it. */
  transaction: number | null;
  /** A move from here that is not finished. */
  fence: { move: number; target: number } | null;
  /** The move that has emptied this place. */
  moved: number | null;
  /** The move that has filled it, and the path from which it came. */
  taken: { move: number; path: string } | null;
  /** Moves that were given up. */
  tombs: number[];
}

export type Operation = "get" | "rekey" | "restore" | "move" | "init" | "claim";

interface Machine {
  keys: number[];
  running: Running | null;
}

/** A command, and where it is. */
export interface Running {
  operation: Operation;
  at: string;
  place: number;
  token: number;
  epoch: number;
  /** What it has read. */
  read: { vaults: Sealed[][]; key: number } | null;
  key: number;
  pair: number;
  fence: { move: number; target: number } | null;
}

/** How often something may still happen. */
interface Left {
  runs: number;
  /** Deaths, lost answers to COMMIT, and transactions that are cut. */
  faults: number;
  /** The shared place is dropped and made anew while it is empty. */
  drops: number;
}

export const letters = "AB";
/** The two own places have the same path: every container has one. */
export const paths = ["/state", "/state", "postgres://"];
export const shared = 2;

export const edit = (world: World): World => structuredClone(world);
export const placeAt = ({ places }: World, place: number): Place => places[place] as Place;
export const machineAt = ({ machines }: World, machine: number): Machine =>
  machines[machine] as Machine;
export const isLive = ({ id, fence, moved }: Place): boolean =>
  id !== 0 && fence === null && moved === null;
export const isEmpty = ({ vaults }: Place): boolean => vaults.every((pairs) => pairs.length === 0);

const emptyPlace = (id: number): Place => ({
  id,
  vaults: [[], []],
  key: 1,
  epoch: 1,
  lease: null,
  gate: null,
  transaction: null,
  fence: null,
  moved: null,
  taken: null,
  tombs: [],
});

/**
 * Where two vaults are at first, and who uses what: each machine its own place with one of them, both the place of A, which is shared
 * too, or both the place into which others move.
 */
export type Scene = "own places" | "one source" | "one state";

export const placesOf = (scene: Scene, machine: number): number[] =>
  scene === "own places" ? [machine, shared] : scene === "one source" ? [0, shared] : [shared];

export function firstWorld(scene: Scene, left: Left): World {
  const places = [emptyPlace(2), emptyPlace(3), emptyPlace(4)];
  for (const vault of [0, 1])
    placeOf(places, placesOf(scene, vault)[0] ?? 0).vaults[vault]?.push({
      pair: 10 + vault,
      key: 1,
    });
  const backup = scene === "one state" ? [[{ pair: 10, key: 1 }], [{ pair: 11, key: 1 }]] : null;
  const machines = [0, 1].map(() => ({ keys: [1], running: null }));
  return { service: [10, 11], places, machines, backup, fresh: 20, left: { ...left }, fault: null };
}

const placeOf = (places: Place[], at: number): Place => places[at] as Place;

/** Numbers in the order in which they are met. */
export function keyOf(world: World): string {
  const names = new Map<number, number>();
  const name = (number: number): number => {
    if (number === 0) return 0;
    const known = names.get(number) ?? names.size + 1;
    names.set(number, known);
    return known;
  };
  const { fresh: _fresh, ...rest } = world;
  const counted = new Set(["left", "runs", "faults", "drops", "place", "lease"]);
  return JSON.stringify(rest, (key, value: unknown) =>
    typeof value === "number" && !counted.has(key) ? name(value) : value,
  );
}
