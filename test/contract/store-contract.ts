import { beforeAll, describe } from "vitest";
import { temporaryState } from "../store/temporary-state.ts";
import { isCampaign } from "../support/campaign.ts";
import { hasPgBouncer, pgBouncer, postgres, type Postgres } from "../support/postgres.ts";
import { sharedState } from "../support/shared-state.ts";
import type { Make } from "./store-fixture.ts";

/** Runs a suite over every implementation of `Store`; in the campaign also through PgBouncer. `make` gives an empty state. */
export function describeStore(title: string, suite: (make: Make) => void): void {
  describe(`SQLite: ${title}`, () => {
    suite(() => temporaryState());
  });
  describe(`PostgreSQL: ${title}`, () => {
    suite(async () => await sharedState());
  });
  if (!isCampaign) return;
  describe.skipIf(!hasPgBouncer())(`PostgreSQL through PgBouncer: ${title}`, () => {
    let pooler: Postgres;
    beforeAll(async () => {
      pooler = await pgBouncer(await postgres());
    });
    suite(async () => await sharedState(pooler));
  });
}
