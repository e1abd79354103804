import type { Policy } from "./policy.ts";
import type { Random } from "../seeds/random.ts";
import type { State } from "./state.ts";

/** The state that the functions of the model work on, and the time at which a request is processed. */
export interface World {
  state: State;
  policy: Policy;
  random: Random;
  now: number;
}
