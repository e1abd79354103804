import { beforeAll, describe, expect, it } from "vitest";
import { isCampaign } from "../support/campaign.ts";
import { hasPgBouncer, pgBouncer, pooled } from "../support/pgbouncer.ts";
import type { Postgres } from "../support/postgres.ts";
import { postgres } from "../support/postgres.ts";
import { sharedState } from "../support/shared-state.ts";
import { describeStore } from "./store-contract.ts";
import { exchange, known, patient, service } from "./store-fixture.ts";

let pooler: Postgres;
beforeAll(async () => {
  if (hasPgBouncer) pooler = await pgBouncer(await postgres());
});

describe.skipIf(!hasPgBouncer)("PostgreSQL through PgBouncer in transaction mode (skipped where there is none)", () => {
  if (isCampaign) describeStore("PostgreSQL through PgBouncer", async () => await sharedState(pooler));

  it(`serves many processes at once over ${pooled} connections`, async () => {
    const state = await sharedState(pooler);
    const vaults = Array.from({ length: 3 * pooled }, (_, n) => `aaaaaaaa-bbbb-4ccc-8ddd-0000000001${String(n).padStart(2, "0")}`);
    await Promise.all(
      vaults.map(async (uuid) => {
        const session = await state.another().lock(service, uuid, patient(state.clock));
        await session.recordPair({ credentials: { encryptedData: `data ${uuid}`, payload: "payload" }, kind: "generic/offline" });
        for (let n = 1; n <= 5; n += 1) await exchange(session, `x${n}`, n, `${uuid} ${n}`);
        expect(await known(session)).toMatchObject({ unackedStarts: 0, last: { id: "x5", state: "acknowledged" } });
        await session.release();
      }),
    );
    const [{ n } = {}] = await state.sql(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
    );
    expect(n).toBe(pooled);
    expect(await state.store.list()).toHaveLength(vaults.length);
    state.dispose();
  });
});
