import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { isLockTaken, releaseLockFile, tryLockFile } from "../../src/files/lock-file.ts";
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
