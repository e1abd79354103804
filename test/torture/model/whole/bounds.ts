import type { WholeBounds } from "./steps.ts";

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
