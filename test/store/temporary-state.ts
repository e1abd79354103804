import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { ChildProcess } from "node:child_process";
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
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

const script = join(import.meta.dirname, "child.ts");

const argv = (action: string, state: TemporaryState, count: number): string[] => [
  "--disable-warning=ExperimentalWarning",
  script,
  action,
  state.directory,
  state.keyFile,
  String(count),
];

/** Runs an action of child.ts to its end, through a command like strace if given. Returns what it printed. */
export async function runChild(
  action: string,
  state: TemporaryState,
  count = 1,
  through: readonly string[] = [],
): Promise<unknown> {
  const [command = "", ...rest] = [...through, process.execPath, ...argv(action, state, count)];
  const { stdout } = await promisify(execFile)(command, rest);
  return JSON.parse(stdout);
}

/** Starts an action of child.ts, and resolves at its first line. */
export async function startChild(action: string, state: TemporaryState): Promise<ChildProcess> {
  const child = spawn(process.execPath, argv(action, state, 1), {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return child;
}

/** Kills a process as `kill -9`; resolves when it is gone. */
export async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

/** Whether a command exists and has the permissions it needs. */
export const works = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { cwd: dirname(script), stdio: "ignore" }).status === 0;
