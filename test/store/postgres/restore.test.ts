import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Store } from "../../../src/exchange/ports.ts";
import { PostgresWhole } from "../../../src/store/postgres/whole-state.ts";
import type { PostgresStore } from "../../../src/store/postgres/store.ts";
import {
  exchange,
  held,
  known,
  pair,
  patient,
  service,
  standings,
} from "../../contract/store-fixture.ts";
import { sample } from "../../support/campaign.ts";
import { sharedState, type SharedState } from "../../support/shared-state.ts";
import { postgres } from "../../support/postgres.ts";
import { tcpProxy, type Cut } from "../../support/proxies.ts";
import { tempDir } from "../../support/cleanup.ts";

const uuids = [
  "aaaaaaaa-bbbb-4ccc-8ddd-00000000000a",
  "aaaaaaaa-bbbb-4ccc-8ddd-00000000000b",
] as const;

const backupsOf = (store: Store): PostgresWhole => new PostgresWhole(store as PostgresStore);

/** Reads a vault, imports it before if it is not known. */
async function use(store: Store, { clock }: SharedState, uuid: string, id: string): Promise<void> {
  const session = await store.lock(service, uuid, patient(clock));
  if ((await session.read()) === null)
    await session.recordPair({ credentials: pair(`first of ${uuid}`), kind: "generic/offline" });
  const base = (await known(session)).generations[0]?.generation ?? 0;
  await exchange(session, id, base, `${id} of ${uuid}`);
  await session.release();
}

/** A state that has forgotten one vault of its backup, and has used the other since. */
async function prepared(): Promise<{
  state: SharedState;
  file: string;
  through: (port: number) => PostgresWhole;
}> {
  const state = await sharedState();
  for (const uuid of uuids) await use(state.store, state, uuid, "x1");
  const file = join(tempDir("backup"), "backup.db");
  await backupsOf(state.store).backup(file);
  const session = await held(state, uuids[0]);
  await session.forget();
  await session.release();
  await use(state.store, state, uuids[1], "x2");
  return { state, file, through: (port) => backupsOf(state.through(port)) };
}

it("a damaged document is told where the state is checked, with a way that leads to a whole one", async () => {
  const { state } = await prepared();
  await state.sql(`UPDATE schema.vaults SET doc = '{}' WHERE uuid = '${uuids[1]}'`);
  const { problem } = await backupsOf(state.store).inspect();
  expect(problem).toMatchObject({
    code: "state",
    message: `the document of vault ${uuids[1]} is damaged`,
    facts: { next: [{ argv: ["vault", "state", "restore", "FILE", "--state", "LOCATION"] }] },
  });
  const using = state.store.lock(service, uuids[1], patient(state.clock));
  await expect(using).rejects.toMatchObject({ code: "state" });
  expect(await state.store.locks()).toEqual([]);
});

it.each<Cut>(["before", "after"])(
  "a connection that is cut %s the server has a request of a restore: each vault whole or not at all, and the rest the next time",
  async (cut) => {
    const proxy = await tcpProxy(await postgres());
    const found = { before: 0, merged: 0 };
    const requests = Array.from({ length: 40 }, (_, n) => n + 1);
    for (const n of sample(requests, 5)) {
      const { state, file, through } = await prepared();
      const restore = async (backups: PostgresWhole) =>
        await (await backups.prepareRestore(file)).run(patient(state.clock));
      proxy.cutAt(n, cut);
      const outcome = await restore(through(proxy.port)).catch((error: unknown) => error);
      if (outcome instanceof Error)
        expect(outcome).toMatchObject({ exitCode: expect.toBeOneOf([14, 15]) as number });
      proxy.cutAt(0, cut);
      // As some time later: who was cut off cannot give a vault back.
      await state.sql("UPDATE schema.vaults SET ends_at = '-infinity'");
      const listed = (await state.another().list()).map(({ uuid }) => uuid);
      expect([[uuids[1]], [...uuids]]).toContainEqual(listed);
      const isMerged = listed.length === 2;
      if (!(outcome instanceof Error)) expect(isMerged).toBe(true);
      found[isMerged ? "merged" : "before"] += 1;
      const again = await restore(backupsOf(state.another()));
      expect(
        again.vaults.map((vault) => vault.reason),
        `request ${n}`,
      ).toEqual([isMerged ? "known" : "returned", "older"]);
      for (const uuid of uuids) await use(state.another(), state, uuid, "x9");
      const session = await held({ ...state, store: state.another() }, uuids[1]);
      expect((await standings(session))[0]).toBe("4 current");
      await session.release();
    }
    expect(found.before).toBeGreaterThan(0);
    expect(found.merged).toBeGreaterThan(0);
  },
);

it("two machines that restore at once do it one after the other", async () => {
  const { state, file } = await prepared();
  const restore = async () =>
    await (await backupsOf(state.another()).prepareRestore(file)).run(patient(state.clock, 60_000));
  const outcomes = (await Promise.all([restore(), restore()])).map(
    ({ vaults }) => vaults[0]?.reason,
  );
  expect(outcomes.toSorted()).toEqual(["known", "returned"]);
});

it("a backup is recorded before its file is there", async () => {
  const state = await sharedState();
  await use(state.store, state, uuids[0], "x1");
  await state.sql("ALTER TABLE schema.journal ADD CHECK (event <> 'backup')");
  const store = state.another() as PostgresStore;
  const file = join(tempDir("backup"), "backup.db");
  const isThere: boolean[] = [];
  store.parts.warn = () => isThere.push(existsSync(file));
  await backupsOf(store).backup(file);
  expect([...isThere, existsSync(file)]).toEqual([false, true]);
});
