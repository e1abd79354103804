import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Store } from "../../src/exchange/ports.ts";
import type { KeySource } from "../../src/secrets/key-source.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import type { StoreFixture } from "../contract/store-fixture.ts";
import { TestClock } from "../contract/store-fixture.ts";

/** A state on disk. */
export interface TemporaryState extends StoreFixture {
  /** Parent of the state and configuration directories. */
  root: string;
  directory: string;
  /** Path of the database. */
  path: string;
  keyFile: string;
  warnings: string[];
  /** The same state with another key. */
  withKey(keySource: KeySource): Store;
  /** Runs SQL on a separate connection; returns the rows of the last query. */
  sql(text: string): Record<string, unknown>[];
}

export function temporaryState(): TemporaryState {
  const root = mkdtempSync(join(tmpdir(), "vault-state-"));
  const directory = join(root, "deep", "state");
  const path = join(directory, "vault.db");
  const keyFile = join(root, "config", "state.key");
  const clock = new TestClock("2026-11-21T10:00:00Z");
  const warnings: string[] = [];
  const open = (keySource: KeySource): Store =>
    openStore({
      directory,
      keySource,
      clock,
      platform: "linux",
      warn: (message) => warnings.push(message),
    });
  const another = (): Store => open({ type: "file", path: keyFile });
  return {
    root,
    directory,
    path,
    keyFile,
    warnings,
    clock,
    store: another(),
    another,
    withKey: open,
    sql: (text) => {
      const connection = new DatabaseSync(path);
      try {
        return connection.prepare(text).all();
      } finally {
        connection.close();
      }
    },
    dispose: () => rmSync(root, { recursive: true, force: true }),
  };
}
