import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

const made: string[] = [];

/** A new empty folder, removed when the test file has ended. */
export function tempDir(name = "test", under = tmpdir()): string {
  const folder = realpathSync(mkdtempSync(join(under, `vault-${name}-`)));
  made.push(folder);
  return folder;
}

afterAll(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
});
