import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import {
  isLockTaken,
  releaseLockFile,
  tryLockFile,
  withLockFile,
} from "../../src/files/lock-file.ts";
import { TestClock } from "../contract/store-fixture.ts";
import { tempDir } from "../support/cleanup.ts";

it("is seen by whoever looks, which keeps nobody from taking it", async () => {
  const path = join(tempDir("lock"), "a.lock");
  expect(isLockTaken(path)).toBe(false);
  const first = tryLockFile(path);
  expect([first === null, isLockTaken(path), tryLockFile(path)]).toEqual([false, true, null]);
  if (first !== null) releaseLockFile(first);
  expect(isLockTaken(path)).toBe(false);
  // Looks all the time, as fast as it can.
  const worker = new Worker(
    `const { DatabaseSync } = require("node:sqlite");
    const { parentPort, workerData } = require("node:worker_threads");
    for (let n = 0; ; n += 1) {
      const db = new DatabaseSync(workerData, { readOnly: true });
      try { db.exec("SELECT 1 FROM sqlite_schema"); } catch {}
      db.close();
      if (n === 10) parentPort.postMessage("looking");
    }`,
    { eval: true, workerData: path },
  );
  await new Promise((resolve) => void worker.once("message", resolve));
  const taken = Array.from({ length: 500 }, () => {
    const lock = tryLockFile(path);
    if (lock !== null) releaseLockFile(lock);
    return lock !== null;
  });
  await worker.terminate();
  expect(taken.filter((is) => !is)).toEqual([]);
});

it("that is none is moved away alone, not the folder it lies in", async () => {
  const path = join(tempDir("lock"), "a.lock");
  writeFileSync(path, "x".repeat(5000));
  const waiting = { deadline: 0, signal: new AbortController().signal };
  const done = withLockFile(
    path,
    "busy",
    new TestClock("2026-11-24T13:00:00Z"),
    waiting,
    async () => Promise.resolve(),
  );
  await expect(done).rejects.toMatchObject({
    code: "state",
    message: `a lock cannot be used: ${path}: it is not a lock`,
    facts: { hint: "move this one file away" },
  });
  await expect(done).rejects.not.toHaveProperty("facts.next");
});

it("for which a person does not wait any longer says that nothing was done", async () => {
  const path = join(tempDir("lock"), "a.lock");
  const first = tryLockFile(path);
  const controller = new AbortController();
  const clock = new TestClock("2026-11-24T13:00:00Z");
  clock.meanwhile = () => controller.abort();
  const waiting = { deadline: 10_000, signal: controller.signal };
  const told = "another run is using it; nothing was sent";
  await expect(
    withLockFile(path, told, clock, waiting, async () => Promise.resolve()),
  ).rejects.toMatchObject({
    code: "interrupted",
    message: `interrupted: ${told}`,
    facts: { retry: "safe" },
  });
  if (first !== null) releaseLockFile(first);
});
