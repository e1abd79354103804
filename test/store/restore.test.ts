import { existsSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openStore } from "../../src/store/sqlite/store.ts";
import { migrations } from "../../src/store/sqlite/schema.ts";
import type { WholeStateWork } from "../../src/store/whole-state.ts";
import { openWholeState } from "../../src/store/whole-state.ts";
import { elsewhere, imported, known, pair, patient, service, uuid } from "../contract/store-fixture.ts";
import type { TemporaryState } from "./temporary-state.ts";
import { temporaryState } from "./temporary-state.ts";

const other = "aaaaaaaa-bbbb-4ccc-8ddd-000000000002";

describe("a state that is restored while others have it open", () => {
  let state: TemporaryState;
  let whole: WholeStateWork;
  let file: string;
  const options = () => ({
    directory: state.directory,
    keySource: { type: "file", path: state.keyFile } as const,
    clock: state.clock,
    platform: "linux",
    warn: (message: string) => state.warnings.push(message),
  });
  beforeEach(async () => {
    state = temporaryState();
    whole = openWholeState(options());
    file = join(state.root, "backup.db");
    await (await imported(state)).release();
    await whole.backup(file, false);
  });
  afterEach(() => state.dispose());

  const restore = async (serviceRestored = false) => await whole.restore(file, serviceRestored, patient(state.clock));

  it("whoever opened the state of before goes on with the restored one", async () => {
    const open = state.another();
    const session = await open.lock(service, other, patient(state.clock));
    await session.recordPair({ credentials: pair("b"), kind: "generic/offline" });
    await session.release();
    expect(await open.list()).toHaveLength(2);
    const { replaced } = await restore();
    expect(await open.list()).toHaveLength(1);
    const next = await open.lock(service, other, patient(state.clock));
    // Its counters are kept, as for a forgotten vault.
    expect(await next.read()).toMatchObject({ generations: [], unackedStarts: 0 });
    await next.recordPair({ credentials: pair("c"), kind: "generic/offline" });
    await next.release();
    expect(await state.another().list()).toHaveLength(2);
    const kept = openStore({ ...options(), directory: replaced ?? "" });
    const there = await kept.lock(service, other, patient(state.clock));
    expect((await there.credentials(1)).payload).toBe(pair("b").payload);
    await there.release();
  });

  it("who waited for a vault while it was restored gets the restored one", async () => {
    const holder = await state.store.lock(service, uuid, patient(state.clock));
    const waiting = state.another();
    await waiting.list();
    let restored: Promise<unknown> | undefined;
    state.clock.meanwhile = () => {
      state.clock.meanwhile = () => undefined;
      void holder.release();
      restored = restore();
    };
    const session = await waiting.lock(service, uuid, patient(state.clock, 60_000));
    await session.setLabel("written after");
    await session.release();
    await restored;
    state.clock.meanwhile = () => undefined;
    const now = await state.another().lock(service, uuid, patient(state.clock));
    // Whichever came first, nothing was written to a database that is no longer in place.
    const label = (await known(now)).label;
    await now.release();
    const [folder] = readdirSync(state.directory).filter((name) => name.startsWith("replaced-"));
    const kept = new DatabaseSync(join(state.directory, folder ?? "", "vault.db"), { readOnly: true });
    const before = kept.prepare("SELECT label FROM vaults").get();
    kept.close();
    expect([label, before?.["label"]]).toContain("written after");
  });

  it("a holder of before cannot write, in the one state or the other", async () => {
    const session = await state.another().lock(service, uuid, patient(state.clock));
    // As if the operating system had lost the lock.
    const directory = join(state.directory, "locks");
    renameSync(directory, `${directory}-lost`);
    mkdirSync(directory, { mode: 0o700 });
    await restore();
    await expect(session.setLabel("late")).rejects.toMatchObject({
      code: "state",
      message: expect.stringContaining("lost the lock of vault") as string,
    });
    const slots = state.sql("SELECT count(*) AS n, min(epoch) AS least FROM locks")[0];
    expect(slots).toMatchObject({ n: 64 });
    expect(Number(slots?.["least"])).toBeGreaterThan(1e12);
    const before = Number(slots?.["least"]);
    await restore();
    expect(Number(state.sql("SELECT min(epoch) AS n FROM locks")[0]?.["n"])).toBeGreaterThanOrEqual(before);
  });

  it("keeps the higher counters, the superseded pairs and the refusals of both, and the queue of the limiter", async () => {
    state.sql("UPDATE vaults SET unacked_starts = 3, failed_attempts = 1");
    await whole.backup(file, true);
    state.sql("UPDATE vaults SET unacked_starts = 0, failed_attempts = 2");
    state.sql("INSERT INTO superseded VALUES (1, 'dead')");
    state.sql("INSERT INTO refusals VALUES (1, 'no', NULL)");
    state.sql("INSERT INTO limiter VALUES ('app', 5000, 4000)");
    state.sql(`INSERT INTO vaults (id, service, uuid, kind, unacked_starts) VALUES (9, '${service}', '${other}', 'generic/offline', 4)`);
    await restore();
    expect(state.sql("SELECT uuid, unacked_starts AS u, failed_attempts AS f, forgotten FROM vaults ORDER BY uuid")).toEqual([
      { uuid: uuid.toLowerCase(), u: 3, f: 2, forgotten: 0 },
      { uuid: other, u: 4, f: 0, forgotten: 1 },
    ]);
    expect(state.sql("SELECT fingerprint FROM superseded")).toEqual([{ fingerprint: "dead" }]);
    expect(state.sql("SELECT combination FROM refusals")).toEqual([{ combination: "no" }]);
    expect(state.sql("SELECT next FROM limiter")).toEqual([{ next: 5000 }]);
    const events = state.sql("SELECT event FROM journal ORDER BY seq").map(({ event }) => event);
    expect(events.at(-1)).toBe("restored");
  });

  it("a pair that was superseded under another base URL is one here as well", async () => {
    state.sql(`UPDATE vaults SET service = '${elsewhere}'`);
    state.sql("INSERT INTO superseded SELECT vault, fingerprint FROM credentials");
    expect(await restore()).toMatchObject({ outdated: 1 });
    expect(state.sql("SELECT standing FROM credentials")).toEqual([{ standing: "superseded" }]);
    expect(await restore(true)).toMatchObject({ outdated: 0 });
  });

  it("a backup of an older version is brought up to date; a present state of a newer one is refused", async () => {
    const newer = [...migrations, "ALTER TABLE vaults ADD COLUMN color TEXT"];
    const later = openWholeState(options(), newer);
    const facts = await later.restore(file, false, patient(state.clock));
    expect(facts.format).toBe(newer.length);
    expect(state.sql("SELECT color FROM vaults")).toEqual([{ color: null }]);
    expect(await openStore(options(), newer).list()).toHaveLength(1);
    await expect(restore()).rejects.toMatchObject({ code: "state", message: expect.stringContaining("newer version") as string });
    expect(state.sql("PRAGMA user_version")).toEqual([{ user_version: newer.length }]);
    expect(readdirSync(state.directory).filter((name) => name.startsWith("replaced-"))).toHaveLength(1);
  });

  it("the limit, the list and a lock each finish a restore that was cut off", async () => {
    for (const way of [
      async () => await state.another().list(),
      async () => await state.another().reserveSlot("app", state.clock.now(), 40),
      async () => await (await state.another().lock(service, uuid, patient(state.clock))).release(),
      async () => await whole.backup(file, true),
    ]) {
      const folder = join(state.directory, "replaced-20260101T000000Z");
      mkdirSync(folder, { mode: 0o700 });
      const copy = join(folder, "restored.db");
      state.sql(`VACUUM INTO '${copy}'`);
      renameSync(state.path, join(folder, "vault.db"));
      expect(await whole.inspect()).toMatchObject({ restoreInterrupted: true, contents: null });
      expect(existsSync(state.path)).toBe(false);
      await way();
      expect(existsSync(copy)).toBe(false);
      expect(await state.another().list()).toHaveLength(1);
      renameSync(folder, `${folder}-${readdirSync(state.directory).length}`.replace("replaced", "done"));
    }
  });
});
