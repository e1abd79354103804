import { describe, expect, it, test } from "vitest";
import {
  exchange,
  held,
  imported,
  known,
  patient,
  service,
  uuid,
} from "../../contract/store-fixture.ts";
import { startServer } from "../../support/postgres.ts";
import { sharedState } from "../../support/shared-state.ts";

describe("whatever a server, a role or a database has set, a step is durable before it is done", () => {
  it("a crash loses neither an acknowledgement nor a creation", async () => {
    // Nothing else writes the log meanwhile.
    const server = await startServer({ wal_writer_delay: "10s" });
    await server.sql("ALTER ROLE postgres SET synchronous_commit = off");
    const state = await sharedState(server);
    const session = await imported(state);
    await exchange(session, "x1", 1, "second");
    await server.crash();
    await server.start();
    await state.sql(`UPDATE schema.vaults SET ends_at = '-infinity'`);
    const next = await state.another().lock(service, uuid, patient(state.clock));
    expect(await known(next)).toMatchObject({ last: { id: "x1", state: "acknowledged" } });
    const creation = { service, id: "c1", kind: "generic/offline", externalRef: "c1" } as const;
    await state.store.beginCreation(creation);
    await server.crash();
    await server.start();
    expect(
      await state.sql(`SELECT exchange FROM schema.journal WHERE event = 'creating'`),
    ).toMatchObject([{ exchange: "c1" }]);
  });

  test.each([
    ["off", "on"],
    ["local", "on"],
    ["remote_write", "on"],
    ["on", "on"],
    ["remote_apply", "remote_apply"],
  ])(
    "synchronous_commit %s becomes %s, and of messages warnings are sent",
    async (set, expected) => {
      const state = await sharedState();
      await state.sql(
        `CREATE TABLE schema.noted AS SELECT ''::text AS durable, ''::text AS messages LIMIT 0`,
      );
      await state.sql(`CREATE FUNCTION schema.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO schema.noted VALUES (current_setting('synchronous_commit'), current_setting('client_min_messages')); RETURN NULL; END $$`);
      await state.sql(
        `CREATE TRIGGER noting AFTER INSERT OR UPDATE ON schema.vaults FOR EACH STATEMENT EXECUTE FUNCTION schema.note()`,
      );
      await state.sql(`ALTER ROLE postgres SET synchronous_commit = ${set}`);
      await state.sql("ALTER ROLE postgres SET client_min_messages = error");
      const other = state.another();
      const session = await other.lock(service, uuid, patient(state.clock));
      await session.recordPair({
        credentials: { encryptedData: "data", payload: "payload" },
        kind: "generic/offline",
      });
      await session.release();
      await state.sql("ALTER ROLE postgres RESET ALL");
      expect(await state.sql("SELECT DISTINCT durable, messages FROM schema.noted")).toEqual([
        { durable: expected, messages: "warning" },
      ]);
      await (await held(state)).release();
    },
  );
});
