import { beforeAll, describe, expect, it } from "vitest";
import { PostgresWhole } from "../../src/store/postgres/whole-state.ts";
import type { PostgresStore } from "../../src/store/postgres/store.ts";
import { moveState } from "../../src/store/whole/move.ts";
import { hasPgBouncer, pgBouncer, pooled, postgres, type Postgres } from "../support/postgres.ts";
import { sharedState, type SharedState } from "../support/shared-state.ts";
import { exchange, imported, known, patient, service, uuid } from "./store-fixture.ts";

let pooler: Postgres;
beforeAll(async () => {
  if (hasPgBouncer()) pooler = await pgBouncer(await postgres());
});

describe.skipIf(!hasPgBouncer())(
  "PostgreSQL through PgBouncer in transaction mode (skipped where there is none)",
  () => {
    it(`serves many processes at once over ${pooled} connections`, async () => {
      const state = await sharedState(pooler);
      const vaults = Array.from(
        { length: 3 * pooled },
        (_, n) => `aaaaaaaa-bbbb-4ccc-8ddd-0000000001${String(n).padStart(2, "0")}`,
      );
      await Promise.all(
        vaults.map(async (uuid) => {
          const session = await state.another().lock(service, uuid, patient(state.clock));
          await session.recordPair({
            credentials: { encryptedData: `data ${uuid}`, payload: "payload" },
            kind: "generic/offline",
          });
          for (let n = 1; n <= 5; n += 1) await exchange(session, `x${n}`, n, `${uuid} ${n}`);
          expect(await known(session)).toMatchObject({
            unackedStarts: 0,
            last: { id: "x5", state: "acknowledged" },
          });
          await session.release();
        }),
      );
      const [{ n } = {}] = await state.sql(
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
      );
      // Those that were needed at one time.
      expect(n).toBeGreaterThan(1);
      expect(n).toBeLessThanOrEqual(pooled);
      expect(await state.store.list()).toHaveLength(vaults.length);
    });

    it("changes a whole state in one transaction, and keeps others out meanwhile", async () => {
      const [state, target] = [await sharedState(pooler), await sharedState(pooler)];
      const session = await imported(state);
      await exchange(session, "x1", 1, "second");
      await session.release();
      const placeOf = ({ another }: SharedState): PostgresWhole =>
        new PostgresWhole(another() as PostgresStore);
      await placeOf(state).transact("rekey", patient(state.clock), async (whole) => {
        for await (const vaults of whole.rows("vaults"))
          await whole.put(
            "vaults",
            vaults.map((row) => ({ ...row, label: "pooled" })),
          );
        const waiting = Array.from(
          { length: 3 * pooled },
          async () => await state.another().lock(service, uuid, patient(state.clock, 0)),
        );
        for (const { status } of await Promise.allSettled(waiting)) expect(status).toBe("rejected");
      });
      expect(await moveState(placeOf(state), placeOf(target), patient(state.clock))).toEqual({
        vaults: 1,
      });
      expect(await target.store.list()).toMatchObject([{ label: "pooled" }]);
    });
  },
);
