import type { Policy } from "./policy.ts";
import type { Random } from "../seeds/random.ts";
import type { State } from "./state.ts";

/** What the functions of the model work on: the state, and the one moment at which a request is processed. */
export interface World {
  state: State;
  policy: Policy;
  random: Random;
  now: number;
}
