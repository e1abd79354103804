import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { SqliteState } from "../../src/store/sqlite/store.ts";
import { SqliteWhole } from "../../src/store/sqlite/whole-state.ts";
import { imported, patient, service, uuid } from "../contract/store-fixture.ts";
import {
  kill,
  machineClock,
  runChild,
  startChild,
  temporaryState,
  works,
} from "./temporary-state.ts";
import type { TemporaryState } from "./temporary-state.ts";

describe("several processes on one state", () => {
  let state: TemporaryState;
  beforeEach(() => {
    state = temporaryState();
  });

  it("a vault that another process holds is busy, and free at once when that one is killed with SIGKILL", async () => {
    const child = await startChild("hold", state);
    try {
      await expect(state.store.lock(service, uuid, patient(state.clock))).rejects.toMatchObject({
        code: "busy",
        exitCode: 15,
      });
    } finally {
      await kill(child);
    }
    state.clock.slept = [];
    const session = await state.store.lock(service, uuid, patient(state.clock, 0));
    expect(state.clock.slept).toEqual([]);
    await session.release();
  });

  it("whoever waits goes on when the holder is killed", async () => {
    const child = await startChild("hold", state);
    const store = new SqliteState({ ...state.options, clock: machineClock });
    const waiting = store.lock(service, uuid, patient(machineClock, 20_000));
    await kill(child);
    await expect((await waiting).release()).resolves.toBeUndefined();
  });

  it("an operation on the whole state has its turn though each of six others always has a vault", async () => {
    const children = await Promise.all(
      [1, 2, 3, 4, 5, 6].map(async () => await startChild("loop", state)),
    );
    try {
      const clock = machineClock;
      const options = { ...state.options, clock };
      const whole = new SqliteWhole(new SqliteState(options));
      for (let n = 0; n < 3; n += 1)
        await whole.transact("rekey", patient(clock, 20_000), async () => await clock.sleep(20));
      await expect
        .poll(async () => (await state.store.locks()).length, { timeout: 10_000 })
        .toBeGreaterThan(3);
    } finally {
      await Promise.all(children.map(kill));
    }
  });

  it("first runs at the same time agree on one database and one key", async () => {
    const generations = await Promise.all(
      [2, 3, 4, 5, 6, 7].map(async (n) => await runChild("import", state, n)),
    );
    expect(generations).toEqual([1, 1, 1, 1, 1, 1]);
    const keys = new Set(
      state
        .sql("SELECT substr(sealed, instr(sealed, 's1:'), 19) AS name FROM vaults")
        .map((row) => row["name"]),
    );
    expect(keys.size).toBe(1);
    expect((await state.store.list()).length).toBe(6);
    expect(readdirSync(state.directory).sort()).toEqual([
      "locks",
      "vault.db",
      "vault.db-shm",
      "vault.db-wal",
    ]);
    expect(readdirSync(state.keys)).toHaveLength(1);
  });

  it("no two processes get the same slot", async () => {
    const slots = (
      await Promise.all([1, 2, 3].map(async () => await runChild("slots", state, 40)))
    ).flat() as number[];
    slots.sort((a, b) => a - b);
    const gaps = slots.slice(1).map((slot, n) => slot - (slots[n] ?? 0));
    expect(slots.length).toBe(120);
    expect(Math.min(...gaps)).toBeGreaterThan(9.9);
  });

  const strace = works("strace", "-o", "/dev/null", "true");
  it.skipIf(!strace)(
    "a warm get syncs once for each of its four commits, and once the folder (skipped where strace cannot run)",
    async () => {
      await (await imported(state)).release();
      await runChild("get", state);
      const log = join(state.root, "strace.log");
      await runChild("get", state, 1, [
        "strace",
        "-f",
        "-o",
        log,
        "-e",
        "trace=fsync,fdatasync,sync_file_range,msync",
      ]);
      const calls = readFileSync(log, "utf8").split("\n");
      // SQLite syncs the folder of a WAL with the first commit of each process.
      expect(
        calls.filter((line) => /\b(fsync|fdatasync|sync_file_range|msync)\(/.test(line)).length,
      ).toBe(5);
    },
  );
});
