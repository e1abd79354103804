import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import type { Counters } from "../../src/exchange/counting.ts";
import { editVaults, storedVaults } from "../support/stored-vaults.ts";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { fingerprint } from "../../src/protocol/fingerprint.ts";
import { SqliteState } from "../../src/store/sqlite/store.ts";
import { SqliteWhole } from "../../src/store/sqlite/whole-state.ts";
import {
  elsewhere,
  exchange,
  imported,
  intent,
  known,
  pair,
  patient,
  service,
  started,
  uuid,
} from "../contract/store-fixture.ts";
import { temporaryState, type TemporaryState } from "./temporary-state.ts";

const other = "aaaaaaaa-bbbb-4ccc-8ddd-000000000002";

/** Counters as they are carried. */
const carried = (unackedStarts: number, failedAttempts: number): Counters => ({
  unackedStarts,
  unansweredStarts: 0,
  failedAttempts,
  possiblyFailed: 0,
});

describe("a state that is restored while others have it open", () => {
  let state: TemporaryState;
  let whole: SqliteWhole;
  let file: string;
  const wholeOf = (warn = (message: string) => void state.warnings.push(message)) => {
    const options = { ...state.options, warn };
    return new SqliteWhole(new SqliteState(options));
  };
  beforeEach(async () => {
    state = temporaryState();
    whole = wholeOf();
    file = join(state.root, "backup.db");
    await (await imported(state)).release();
    await whole.backup(file);
  });

  const restore = async () => await (await whole.prepareRestore(file)).run(patient(state.clock));

  it("what is in a backup is known elsewhere, also what was written while it was made", async () => {
    const read = whole.read.bind(whole);
    vi.spyOn(whole, "read").mockImplementationOnce(async (work) => {
      const session = await state.another().lock(service, uuid, patient(state.clock));
      await exchange(session, "x1", 1, "second");
      await session.release();
      return await read(work);
    });
    await whole.backup(join(state.root, "busy.db"));
    expect(state.warnings).toEqual([]);
    const [vault] = await state.another().list();
    expect(vault?.generations[0]).toMatchObject({ standing: "current", sole: false });
  });

  it("a backup hears a signal while it is written, and leaves nothing then", async () => {
    const stop = new AbortController();
    const beside = readdirSync(state.root);
    const backup = whole.backup(join(state.root, "later.db"), stop.signal);
    setImmediate(() => stop.abort(new Error("stopped")));
    await expect(backup).rejects.toThrow("stopped");
    expect(readdirSync(state.root)).toEqual(beside);
  });

  it("a restore that is interrupted names itself, and no vault", async () => {
    const { run } = await whole.prepareRestore(file);
    const waiting = { ...patient(state.clock), signal: AbortSignal.abort(new Error("stopped")) };
    const next = [{ argv: ["vault", "state", "restore", file], note: "restores what is missing" }];
    await expect(run(waiting)).rejects.toMatchObject({
      code: "interrupted",
      message: "interrupted; the restore is incomplete",
      facts: { retry: "safe", next },
    });
  });

  it("a backup is recorded before its file is there", async () => {
    state.sql(
      "CREATE TRIGGER full BEFORE INSERT ON journal WHEN NEW.event = 'backup' BEGIN SELECT raise(ABORT, 'no'); END",
    );
    const later = join(state.root, "later.db");
    const isThere: boolean[] = [];
    await wholeOf(() => void isThere.push(existsSync(later))).backup(later);
    expect([...isThere, existsSync(later)]).toEqual([false, true]);
  });

  it("whoever has it open goes on, with all that is there", async () => {
    const open = state.another();
    const session = await open.lock(service, other, patient(state.clock));
    await session.recordPair({ credentials: pair("b"), kind: "generic/offline" });
    await session.release();
    const before = await open.list();
    expect(before).toHaveLength(2);
    expect((await restore()).vaults.map(({ uuid: each, reason }) => [each, reason])).toEqual([
      [uuid.toLowerCase(), "known"],
    ]);
    expect(await open.list()).toEqual(before);
  });

  it("who waited for a vault while it was restored finds what was written before", async () => {
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
    expect((await known(now)).label).toBe("written after");
    await now.release();
  });

  it("a holder of before cannot write, in the one state or the other", async () => {
    const session = await state.another().lock(service, uuid, patient(state.clock));
    await session.read();
    // As if the operating system had lost the lock.
    const directory = join(state.directory, "locks");
    renameSync(directory, `${directory}-lost`);
    mkdirSync(directory, { mode: 0o700 });
    await restore();
    await expect(session.setLabel("late")).rejects.toMatchObject({
      code: "state",
      message: expect.stringContaining("lost the lock of vault") as string,
    });
  });

  it("keeps the counters, the superseded pairs, the refusals and the queue of the limiter", async () => {
    const carry = (unackedStarts: number, failedAttempts: number) =>
      editVaults(state.path, ({ vault }) => {
        vault.carried = carried(unackedStarts, failedAttempts);
      });
    carry(3, 1);
    await whole.backup(file);
    carry(0, 2);
    state.sql(`INSERT INTO spent VALUES ('${service}', '${uuid.toLowerCase()}', 'dead')`);
    editVaults(state.path, ({ refusals }) => void refusals.push(["no", null]));
    state.sql("INSERT INTO limiter VALUES ('app', 5000, 4000)");
    state.sql(
      `INSERT INTO vaults SELECT 9, service, '${other}', NULL, kind, 'counted', version, doc, '{}' FROM vaults`,
    );
    editVaults(state.path, (stored) => {
      if (stored.uuid !== other) return;
      Object.assign(stored, { credentials: [], exchanges: [], refusals: [] });
      Object.assign(stored.vault, { carried: carried(4, 0), forgotten: true });
    });
    await restore();
    expect(
      (await state.another().list()).map((vault) => [
        vault.uuid,
        vault.unackedStarts,
        vault.failedAttempts,
      ]),
    ).toEqual([
      [uuid.toLowerCase(), 0, 2],
      [other, 4, 0],
    ]);
    expect(state.sql("SELECT fingerprint FROM spent")).toEqual([{ fingerprint: "dead" }]);
    expect(storedVaults(state.path)[0]?.refusals).toEqual([["no", null]]);
    expect(state.sql("SELECT next FROM limiter")).toEqual([{ next: 5000 }]);
    const events = state.sql("SELECT event FROM journal ORDER BY seq").map(({ event }) => event);
    expect(events.at(-1)).toBe("restored");
  });

  it("what a state has lost comes back, once", async () => {
    const rows = (): unknown =>
      storedVaults(state.path).map((stored) => ({ ...stored, sealed: null }));
    const events = (): unknown[] =>
      state.sql("SELECT event FROM journal ORDER BY seq").map(({ event }) => event);
    rmSync(state.directory, { recursive: true });
    whole = wholeOf();
    expect((await restore()).vaults).toMatchObject([{ uuid: uuid.toLowerCase(), reason: "taken" }]);
    const once = rows();
    expect(events()).toEqual(["merged", "restored"]);
    await restore();
    expect(rows()).toEqual(once);
    expect(events()).toEqual(["merged", "restored", "restored"]);
  });

  it("what was superseded long ago is so in what comes back, and is not imported", async () => {
    const long = fingerprint(uuid, pair("long ago"));
    state.sql(`INSERT INTO spent VALUES ('${service}', '${uuid.toLowerCase()}', '${long}')`);
    await whole.backup(file);
    rmSync(state.directory, { recursive: true });
    whole = wholeOf();
    await restore();
    const session = await state.another().lock(service, uuid, patient(state.clock));
    const given = { credentials: pair("long ago"), kind: "generic/offline" } as const;
    await expect(session.recordPair(given)).rejects.toMatchObject({ code: "no-credentials" });
    await session.release();
  });

  it("what a run has done is not known any more: it begins anew", async () => {
    const session = await state.another().lock(service, uuid, patient(state.clock));
    const of = { operation: "update", run: { name: "may", digest: "contents" } } as const;
    await session.recordIntent(intent("x1", 1, of));
    await session.recordStarted("x1", started("second"));
    await session.recordEnding("x1", true);
    await session.acknowledge("x1");
    await session.release();
    await whole.backup(file);
    expect(await state.another().run(service, "may")).toHaveLength(1);
    rmSync(state.directory, { recursive: true });
    whole = wholeOf();
    await restore();
    expect(await state.another().run(service, "may")).toEqual([]);
  });

  it("a pair that was superseded under another base URL is one here as well", async () => {
    editVaults(state.path, (stored) => {
      stored.service = elsewhere;
      for (const row of stored.credentials)
        Object.assign(row, { standing: "superseded", kept: false });
      const print = stored.credentials[0]?.fingerprint;
      state.sql(`INSERT INTO spent VALUES ('${elsewhere}', '${stored.uuid}', '${print}')`);
    });
    expect((await restore()).vaults).toMatchObject([{ reason: "older" }]);
    expect(state.sql("SELECT service FROM vaults")).toEqual([{ service: elsewhere }]);
  });

  it("a vault that somebody uses for too long is told; the others are restored", async () => {
    const held = await state.store.lock(service, uuid, patient(state.clock));
    const session = await state.another().lock(service, other, patient(state.clock));
    await session.recordPair({ credentials: pair("b"), kind: "generic/offline" });
    await session.release();
    await whole.backup(file);
    state.sql(`DELETE FROM vaults WHERE uuid = '${other}'`);
    const { vaults, failed } = await restore();
    expect(failed).toMatchObject([{ uuid: uuid.toLowerCase(), error: { code: "busy" } }]);
    expect(vaults).toMatchObject([{ uuid: other, reason: "taken" }]);
    await held.release();
    expect(await restore()).toMatchObject({ failed: [], vaults: [{}, {}] });
  });

  it("a backup whose values do not open is none: they are read back", async () => {
    editVaults(state.path, ({ sealed }) => {
      const [value = ""] = Object.values(sealed["credentials.sealed"]);
      sealed["credentials.sealed"] = { 1: value, 2: value };
    });
    const later = join(state.root, "later.db");
    await expect(whole.backup(later)).rejects.toMatchObject({
      code: "state",
      message: expect.stringContaining("credentials.sealed 2") as string,
    });
    expect(existsSync(later)).toBe(false);
  });

  it.each([
    ["a value that does not open", `{"credentials.sealed":{"1":"s1:x"}}`],
    ["values that are none", `{"credentials.sealed":null}`],
    ["no values", "null"],
    ["a document of another shape", "{}", "doc"],
    ["a document that is none", "null", "doc"],
  ])(
    "a backup with %s is damaged, and nothing is restored",
    async (_, value, column = "sealed") => {
      const db = new DatabaseSync(file);
      db.prepare(`UPDATE vaults SET ${column} = ?`).run(value);
      db.close();
      await expect(whole.prepareRestore(file)).rejects.toMatchObject({
        code: "state",
        message: expect.stringContaining(`${file}: it is damaged (`) as string,
        facts: { hint: expect.stringContaining("use another backup") as string },
      });
    },
  );
});
