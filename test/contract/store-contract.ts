import { describeBreakers } from "./store-breakers.ts";
import { describeCreations } from "./store-creations.ts";
import { describeExchangeSteps } from "./store-exchanges.ts";
import type { Make } from "./store-fixture.ts";
import { describeKeeping } from "./store-keeping.ts";
import { describeLocks } from "./store-locks.ts";
import { describePairs } from "./store-pairs.ts";
import { describeRuns } from "./store-runs.ts";

/** What every implementation of `Store` must do: the suite that runs over each of them. `make` gives an empty state. */
export function describeStore(name: string, make: Make): void {
  describeExchangeSteps(name, make);
  describePairs(name, make);
  describeKeeping(name, make);
  describeCreations(name, make);
  describeLocks(name, make);
  describeRuns(name, make);
  describeBreakers(name, make);
}
