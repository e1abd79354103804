import { cpSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Lab } from "../support/lab.ts";
import {
  expectError,
  expectExit,
  expectInStep,
  firstGet,
  firstGetArgs,
  offlineNote,
  openLab,
  coldLab,
} from "../support/lab.ts";
import { type Machine } from "../support/machine.ts";
import { runVault, vaultBin } from "../support/run-vault.ts";
import { makeReadOnly, mayMount, smallDisk } from "../support/disks.ts";

/** The bytes of every file, except the index that SQLite makes anew for each crash and the lock files, which hold nothing. */
function bytesOf(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const files = entries
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/-shm$|\.lock$/.test(path));
  return Object.fromEntries(
    files.sort().map((path) => [path, readFileSync(path).toString("base64")]),
  );
}

async function warm(): Promise<{ lab: Lab; machine: Machine; uuid: string }> {
  const { lab, machine, uuid } = await coldLab(offlineNote);
  // By a process of its own: none may have the database open any more.
  expectExit(await firstGet(machine, lab.vault), 0);
  return { lab, machine, uuid };
}

describe.concurrent("a state that cannot be used", () => {
  it.skipIf(!mayMount)("on a disk that is read-only (needs the right to mount)", async () => {
    const lab = await openLab(offlineNote);
    const machine = lab.machine({ stateDir: smallDisk(4096) });
    // Of its own process: no file of it stays open.
    expectExit(await machine.start({}, ...firstGetArgs(machine, lab.vault)).exit, 0);
    makeReadOnly(machine.stateDir);
    const { uuid } = lab.vault;
    const before = bytesOf(machine.stateDir);
    for (const args of [
      ["get", uuid],
      ["forget", uuid, "--yes"],
    ]) {
      expectError(await machine.vault(...args, "--json"), "state", /read-only|cannot be/);
    }
    // Nothing is left to acknowledge.
    await machine.ok("ack", uuid, "--json");
    expect(lab.service.sandbox.requests()).toHaveLength(2);
    expect(bytesOf(machine.stateDir)).toEqual(before);
  });
});

describe.concurrent("a disk that fills up", () => {
  it.skipIf(!mayMount)(
    "before the first start: nothing is sent (needs the right to mount)",
    async () => {
      const lab = await openLab(offlineNote);
      const machine = lab.machine({ stateDir: smallDisk(16) });
      const get = [...firstGetArgs(machine, lab.vault), "--json"];
      for (const _ of [1, 2]) expectError(await machine.vault(...get), "state");
      expect(lab.service.sandbox.requests()).toEqual([]);
    },
  );

  it.skipIf(!mayMount)(
    "in a state that is in use: nothing is sent, and it goes on when there is space (needs the right to mount)",
    async () => {
      const lab = await openLab(offlineNote);
      const { uuid } = lab.vault;
      const disk = smallDisk(4096);
      const machine = lab.machine({ stateDir: disk });
      await machine.ok(...firstGetArgs(machine, lab.vault));
      const ballast = join(disk, "ballast");
      const { bavail, bsize } = statfsSync(disk);
      writeFileSync(ballast, Buffer.alloc(bavail * bsize));
      const before = bytesOf(disk);
      for (const _ of [1, 2])
        expectError(await machine.vault("get", uuid, "--json"), "state", /full/);
      expect(lab.service.sandbox.requests()).toHaveLength(2);
      expect(bytesOf(disk)[join(disk, "vault.db")]).toEqual(before[join(disk, "vault.db")]);
      rmSync(ballast);
      await machine.ok("get", uuid, "--json");
      await expectInStep(lab, machine, uuid);
    },
  );

  it.skipIf(!mayMount)(
    "and has room for a step, but for no exchange: none begins, and an open one can be acknowledged (needs the right to mount)",
    async () => {
      const lab = await openLab(offlineNote);
      const { uuid } = lab.vault;
      const disk = smallDisk(4096);
      const machine = lab.machine({ stateDir: disk });
      await machine.ok(...firstGetArgs(machine, lab.vault), "--no-ack");
      const ballast = join(disk, "ballast");
      const { bavail, bsize } = statfsSync(disk);
      writeFileSync(ballast, Buffer.alloc(bavail * bsize - 1024 * 1024));
      const almostFull = /almost full \(\d+ KiB free, too little for an exchange\)/;
      const sent = lab.service.sandbox.requests().length;
      const note = ["--kind", "generic/offline", "--content", `@${machine.file("note", "note")}`];
      for (const args of [
        ["get", uuid, "--discard-pending"],
        ["update", uuid, "--discard-pending", ...note.slice(2)],
        ["create", ...note],
      ])
        expectError(await machine.vault(...args, "--json"), "state", almostFull);
      const all = await machine.vault("get", "--all", "--discard-pending", "-o", "ndjson");
      expectError(all, "state", almostFull);
      expect(lab.service.sandbox.requests()).toHaveLength(sent);
      await machine.ok("ack", uuid);
      rmSync(ballast);
      await machine.ok("get", uuid, "--json");
      await expectInStep(lab, machine, uuid);
      expect(lab.service.sandbox.inspect(uuid)).toMatchObject({ maxUnackedStarts: 1 });
      await machine.ok("create", ...note);
    },
  );

  it("at any size at which files may not grow: the pair is never lost, and it goes on without the limit", async () => {
    const { lab, machine, uuid } = await warm();
    const size = readFileSync(join(machine.stateDir, "vault.db-wal")).length;
    const codes = new Set<number | null>();
    // In blocks of 512 bytes: from what is there already, in pages of the WAL, to what one more exchange needs.
    for (let extra = 0; extra < 100_000; extra += 24_800) {
      const one = machine.copy();
      // SIGXFSZ is for programs that do not look at what a write answers: with it ignored the write fails.
      const line = `trap '' XFSZ; ulimit -f ${Math.ceil((size + extra) / 512)}; exec "$0" "$@"`;
      const sh = { node: "/bin/sh", bin: "-c", env: one.env, cwd: one.home };
      const result = await runVault(
        [line, process.execPath, vaultBin, "get", uuid, "--json", "--max-wait", "2s"],
        sh,
      );
      codes.add(result.code);
      expectExit(result, 0, 11, 14);
      await one.ok("get", uuid, "--json");
      await expectInStep(lab, one, uuid);
      expect(lab.service.sandbox.inspect(uuid)).toMatchObject({ maxFailedAccesses: 0 });
      expect(lab.service.sandbox.inspect(uuid).maxUnackedStarts).toBeLessThan(5);
      // The next round begins where this one ended.
      rmSync(machine.stateDir, { recursive: true });
      cpSync(one.stateDir, machine.stateDir, { recursive: true });
      if (result.code === 0) break;
    }
    expect(codes).toContain(14);
  });
});
