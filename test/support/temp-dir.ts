import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEndOfFile } from "./end-of-file.ts";

/** A new empty folder, removed when the test file has ended. */
export function tempDir(name = "test", under = tmpdir()): string {
  const folder = realpathSync(mkdtempSync(join(under, `vault-${name}-`)));
  atEndOfFile(() =>
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }),
  );
  return folder;
}
