import { actorOf } from "../../src/actor.ts";
import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { execFile, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import type { Clock } from "../../src/exchange/ports.ts";
import type { KeySource } from "../../src/secrets/keys.ts";
import type { StoreOptions } from "../../src/store/stored-state.ts";
import { SqliteState } from "../../src/store/sqlite/store.ts";
import type { State } from "../../src/store/whole/stored-whole.ts";
import { tempDir } from "../support/cleanup.ts";
import type { StoreFixture } from "../contract/store-fixture.ts";
import {
  exchange,
  intent,
  pair,
  patient,
  service,
  started,
  TestClock,
  uuid,
} from "../contract/store-fixture.ts";

/** A state on disk. */
export interface TemporaryState extends StoreFixture {
  /** Parent of the state and configuration directories. */
  root: string;
  directory: string;
  /** Path of the database. */
  path: string;
  /** Folder of the key files, and the one of this state. */
  keys: string;
  readonly keyFile: string;
  warnings: string[];
  options: StoreOptions;
  /** The same state with another key. */
  withKey(keySource: KeySource): State;
  /** Runs SQL on a separate connection; returns the rows of the last query. */
  sql(text: string): Record<string, unknown>[];
}

/** The lock file of a vault, in the directory of the locks. */
export const lockPath = (directory: string, uuid: string): string =>
  join(
    directory,
    `${createHash("sha256").update(uuid.toLowerCase()).digest("hex").slice(0, 32)}.lock`,
  );

export function temporaryState(): TemporaryState {
  const root = tempDir("state");
  const directory = join(root, "deep", "state");
  const path = join(directory, "vault.db");
  const keys = join(root, "config", "keys");
  const clock = new TestClock("2026-11-21T10:00:00Z");
  const warnings: string[] = [];
  const options: StoreOptions = {
    directory,
    keySource: { folder: keys },
    clock,
    by: actorOf(process.pid),
    warn: (message) => warnings.push(message),
  };
  const another = (): State => new SqliteState(options);
  return {
    root,
    directory,
    path,
    keys,
    get keyFile() {
      return join(keys, existsSync(keys) ? (readdirSync(keys)[0] ?? "none") : "none");
    },
    warnings,
    options,
    clock,
    store: another(),
    another,
    pass: (ms: number) => void (clock.at += ms),
    withKey: (keySource) => new SqliteState({ ...options, keySource }),
    sql: (text) => {
      const connection = new DatabaseSync(path);
      try {
        return connection.prepare(text).all();
      } finally {
        connection.close();
      }
    },
  };
}

/** The clocks of this machine. */
export const machineClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: async (milliseconds, signal) =>
    await setTimeout(milliseconds, undefined, signal === undefined ? {} : { signal }),
};

const script = import.meta.filename;

const argv = (action: string, state: TemporaryState, count: number): string[] => [
  "--disable-warning=ExperimentalWarning",
  script,
  action,
  state.directory,
  state.keys,
  String(count),
];

/** Runs an action of `act` to its end, through a command like strace if given. Returns what it printed. */
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

/** Starts an action of `act`, and resolves at its first line. */
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

/** Uses a state in a process of its own: `node temporary-state.ts ACTION DIRECTORY KEYS COUNT`. Prints one line of JSON. */
async function act([
  action = "",
  directory = "",
  folder = "",
  count = "1",
]: string[]): Promise<void> {
  let lookedAt = 0;
  const clock = { ...machineClock, now: () => (lookedAt = Date.now()) };
  const store = new SqliteState({
    directory,
    keySource: { folder },
    clock,
    by: actorOf(process.pid),
    warn: () => undefined,
  });

  const print = (value: unknown): boolean => process.stdout.write(`${JSON.stringify(value)}\n`);

  const actions: Record<string, () => Promise<void>> = {
    /** Locks the vault until it is killed. */
    hold: async () => {
      const session = await store.lock(service, uuid, patient(clock));
      print("held");
      await setTimeout(60_000);
      await session.release();
    },
    /** Takes vaults of its own for a moment each, again and again, until it is killed: it has one at any time that it is let. */
    loop: async () => {
      print("taking");
      const take = async (after: number): Promise<void> => {
        await setTimeout(after);
        for (let n = 0; ; n += 1) {
          const vault = `${process.pid}-${after}-${n}`;
          const session = await store.lock(service, vault, patient(clock, 20_000));
          await setTimeout(30);
          await session.release();
        }
      };
      await Promise.all([0, 10, 20].map(take));
    },
    /** Imports a pair into a vault of its own. */
    import: async () => {
      const session = await store.lock(service, uuid.replace(/1$/, count), patient(clock, 20_000));
      print(
        await session.recordPair({ credentials: pair(`pair-${count}`), kind: "generic/offline" }),
      );
    },
    /** Runs whole exchanges as `get` does, and exits as the program does. */
    get: async () => {
      for (let n = 0; n < Number(count); n += 1) {
        await store.find(uuid);
        const session = await store.lock(service, uuid, patient(clock, 20_000));
        const base = (await session.read())?.generations[0]?.generation ?? 0;
        await store.reserveSlot("app", 0.001);
        await session.read();
        await store.reserveSlot("app", 0.001);
        await exchange(session, `x-${process.pid}-${n}`, base, `pair-${process.pid}-${n}`);
        await session.read();
        await session.release();
      }
      print("done");
    },
    /** Reserves slots and prints their times. */
    slots: async () => {
      const slots: number[] = [];
      for (let n = 0; n < Number(count); n += 1) {
        const untilSlot = await store.reserveSlot("app", 10);
        slots.push(lookedAt + untilSlot);
      }
      print(slots);
    },
    /** Starts exchanges until the state cannot be written; prints the last one that was reported durable. */
    fill: async () => {
      const session = await store.lock(service, uuid, patient(clock));
      let durable = 0;
      try {
        for (;;) {
          await session.recordIntent(
            intent(`x${durable + 1}`, (await session.read())?.generations.at(-1)?.generation ?? 0),
          );
          await session.recordStarted(
            `x${durable + 1}`,
            started(`pair-${durable + 1}-${"x".repeat(2000)}`),
          );
          durable += 1;
        }
      } catch (error) {
        print({ durable, error });
      }
    },
  };

  await actions[action]?.();
  process.exit();
}

if (import.meta.main) await act(process.argv.slice(2));
