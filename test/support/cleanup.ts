import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What is to be done when the test file has ended. The files of a worker share this module: a hook here would run for the first alone. */
const jobs: (() => unknown)[] = [];
let ending: Promise<unknown> = Promise.resolve();

/** Does it when the test file has ended, the last one first. */
export function atEndOfFile(job: () => unknown): void {
  jobs.push(job);
}

/** Resolves when all of it is done, also by a call that came before: a demo's end and a signal may both ask for it. */
export async function endFile(): Promise<void> {
  const before = ending;
  const now = (async () => {
    await before;
    for (const job of jobs.splice(0).toReversed()) await job();
  })();
  ending = now.catch(() => undefined);
  await now;
}

/** A new empty folder, removed when the test file has ended. */
export function tempDir(name = "test", under = tmpdir()): string {
  const folder = realpathSync(mkdtempSync(join(under, `vault-${name}-`)));
  atEndOfFile(() =>
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }),
  );
  return folder;
}
