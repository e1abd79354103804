import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { constants } from "node:os";
import { join, resolve } from "node:path";
import { asVaultError, Interruption } from "../../src/errors.ts";
import { endGroup, type Host } from "../../src/host.ts";
import { takenAtOnce } from "../../src/terminal/foreground.ts";
import { orAborted } from "../../src/terminal/signals.ts";
import { DataStream, MessageStream } from "../../src/terminal/streams.ts";
import { createIo, type Basics, type SettingsPart } from "../../src/parts/basics.ts";
import { valueSources, type SettingIo } from "../../src/settings/given.ts";

export interface FakeHostOptions {
  env?: Record<string, string | undefined>;
  cwd?: string;
  home?: string;
  /** All three streams are a terminal. */
  isTTY?: boolean;
  columns?: number;
  rows?: number;
  color?: boolean;
  /** What is on standard input. */
  input?: string | Uint8Array;
  /** By path, as `readFile` is given it; or those of the machine. */
  files?: Record<string, string> | "real";
  /** Milliseconds since the epoch; or time as it goes by, and what was slept on top. */
  now?: number | "real";
  /** Whether something is under way that time is not to pass over: a request that will be answered. */
  isBusy?: () => boolean;
  uncaught?: Promise<never>;
  /** What each write to stdout fails with, for example { code: "EPIPE" }. */
  stdoutFails?: { code: string; syscall?: string };
}

export interface FakeHost extends Host {
  /** What was written so far. */
  readonly out: string;
  readonly err: string;
  /** As a first and as a second signal. */
  interrupt(signal?: string): void;
  kill(signal?: string): void;
}

/**
 * A host without a process: output is kept, files and input are given. Once nothing else happens, the clock moves on to when the first
 * of those who sleep wakes up.
 */
export function fakeHost(options: FakeHostOptions = {}): FakeHost {
  const written = { out: "", err: "" };
  const facts = {
    isTTY: options.isTTY ?? false,
    columns: options.columns ?? 80,
    ...(options.rows !== undefined && { rows: options.rows }),
    color: options.color ?? false,
  };
  const first = new AbortController();
  const second = new AbortController();
  const signal = (): AbortSignal => first.signal;
  const stdout = new DataStream({
    facts,
    signal,
    openWriter: () => async (bytes) => {
      const { stdoutFails } = options;
      if (stdoutFails !== undefined)
        throw Object.assign(new Error(`${stdoutFails.code}: write`), stdoutFails);
      written.out += Buffer.from(bytes).toString();
    },
  });
  const stderr = new MessageStream({
    facts,
    signal,
    openWriter: () => async (bytes) => {
      written.err += Buffer.from(bytes).toString();
    },
  });
  let slept = 0;
  const start = options.now ?? Date.parse("2026-11-21T12:00:00Z");
  const now = (): number => (start === "real" ? Date.now() : start) + slept;
  const sleepers = new Set<{ until: number; wake: () => void }>();
  const untilQuiet = async (): Promise<void> => {
    // An answer that was sent is met a few turns later, and so is the request that follows it.
    const turns = options.isBusy === undefined ? 1 : 10;
    for (let quiet = 0; quiet < turns; quiet += 1) {
      await new Promise((resolve) => void setImmediate(resolve));
      if (options.isBusy?.() === true) quiet = -1;
    }
  };
  const moveOn = async (): Promise<void> => {
    while (sleepers.size > 0) {
      await untilQuiet();
      const [first] = [...sleepers].toSorted((a, b) => a.until - b.until);
      if (first === undefined) return;
      slept += Math.max(0, first.until - now());
      sleepers.delete(first);
      first.wake();
    }
  };

  const readGiven = async (path: string): Promise<Uint8Array> => {
    if (options.files === "real") return await readFile(resolve(options.cwd ?? "/", path));
    const text = options.files?.[path];
    if (text === undefined)
      throw Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), {
        code: "ENOENT",
      });
    return Buffer.from(text);
  };

  return {
    env: options.env ?? {},
    cwd: options.cwd ?? "/home/ada",
    resolve: (path) => resolve(options.cwd ?? "/home/ada", path),
    home: options.home ?? "/home/user",
    platform: "linux",
    actor: { host: "desk", user: "ada", pid: 4711 },
    program: [process.execPath, join(import.meta.dirname, "..", "..", "bin", "vault.js")],
    runForeground: async ({ file, command: [name = "", ...args], env, input }) => {
      const child = spawn(file ?? name, args, { argv0: name, cwd: options.cwd, env: { ...env } });
      child.stdout.setEncoding("utf8").on("data", (text: string) => (written.out += text));
      child.stderr.setEncoding("utf8").on("data", (text: string) => (written.err += text));
      let unread = Buffer.byteLength(input ?? "") > takenAtOnce;
      child.stdin.on("error", () => {}).on("finish", () => (unread = false));
      child.stdin.end(input ?? options.input);
      const [code, signal] = (await once(child, "close")) as [number, NodeJS.Signals | null];
      const exitCode = signal === null ? code : 128 + constants.signals[signal];
      return { exitCode, signal, unread };
    },
    uid: process.geteuid?.(),
    versions: { node: "24.15.0" },
    interrupted: first.signal,
    killed: second.signal,
    stdout,
    stderr,
    stdin: {
      isTTY: facts.isTTY,
      readAll: async (limit) => {
        const bytes = Buffer.from(options.input ?? "");
        if (bytes.length > limit) throw Object.assign(new Error("too much"), { code: "EFBIG" });
        return bytes;
      },
      chunks: async function* () {
        yield Buffer.from(options.input ?? "");
      },
    },
    chooseColor: (choice) => {
      facts.color = choice ?? options.color ?? false;
    },
    terminal: () => {
      throw new Error("a fake host has no terminal to prompt on");
    },
    endGroup,
    uncaught: options.uncaught ?? new Promise(() => {}),
    readFile: readGiven,
    flush: async () => {
      await stdout.flush();
      await stderr.flush();
    },
    now,
    elapsed: now,
    sleep: async (milliseconds, signal) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const sleeper = { until: now() + milliseconds, wake: resolve };
      sleepers.add(sleeper);
      if (sleepers.size === 1) void moveOn();
      await orAborted(promise, signal).finally(() => sleepers.delete(sleeper));
    },
    interrupt: (signal = "SIGINT") => first.abort(new Interruption(signal)),
    kill: (signal = "SIGINT") => second.abort(new Interruption(signal)),
    get out() {
      return written.out;
    },
    get err() {
      return written.err;
    },
  };
}

/** The parts of what touches neither state nor service: the real ones, on a fake host, with the settings that matter to a test. */
export function fakeBasics(
  host: FakeHost = fakeHost(),
  given: Partial<SettingsPart> = {},
  flags: Readonly<Record<string, string | boolean>> = {},
): Basics {
  const settings = { output: "table", maxWait: 0, flags, ...given } as SettingsPart;
  return { io: createIo(host, flags, settings), settings };
}

export interface PartsOptions {
  isTTY?: boolean;
  columns?: number;
  format?: "table" | "json" | "ndjson";
  field?: string;
  quiet?: boolean;
  verbose?: boolean;
  stdoutFails?: { code: string };
}

/** The parts of the program that print, on a screen that stdout, stderr and the progress line share. */
export function printingParts(options: PartsOptions = {}) {
  const {
    isTTY = false,
    columns = 80,
    format = "table",
    field,
    quiet = false,
    verbose = false,
    stdoutFails,
  } = options;
  const facts = { isTTY, columns, color: false };
  const written = { screen: "", stdout: [] as string[], stderr: "" };
  const stdout = new DataStream({
    facts,
    signal: () => undefined,
    openWriter: () => async (bytes) => {
      if (stdoutFails !== undefined) throw Object.assign(new Error("write"), stdoutFails);
      written.stdout.push(Buffer.from(bytes).toString());
      written.screen += written.stdout.at(-1);
    },
  });
  const stderr = new MessageStream({
    facts,
    signal: () => undefined,
    openWriter: () => async (bytes) => {
      written.stderr += Buffer.from(bytes).toString();
      written.screen += Buffer.from(bytes).toString();
    },
  });
  let elapsed = 0;
  const output = {
    columns,
    write: (text: string) => (written.screen += text),
  } as unknown as NodeJS.WriteStream;
  const host = Object.assign(fakeHost(), {
    stdout,
    stderr,
    elapsed: () => elapsed,
    terminal: () => ({ input: process.stdin, output }),
  });
  const app = fakeBasics(
    host,
    { rate: 25, output: format },
    { quiet, verbose, reveal: true, ...(field === undefined ? {} : { field }) },
  );
  const pass = (milliseconds: number): void => void (elapsed += milliseconds);
  return { app, written, pass, flush: async () => await stderr.flush() };
}

/** What stands on the screen: of each line, what was written after the last return to its begin. */
export const shown = (screen: string): string =>
  screen
    .split("\n")
    .map((line) => line.slice(line.lastIndexOf("\r") + 1).replaceAll("\u001B[K", ""))
    .join("\n");

export const uuid = (n: number): string => `123e4567-e89b-42d3-a456-${String(n).padStart(12, "0")}`;

/** Code and message of the error that a promise is rejected with. */
export const failure = async (work: Promise<unknown>): Promise<string> =>
  await work.then(
    () => "nothing was raised",
    (error: unknown) => `${asVaultError(error).code}: ${asVaultError(error).message}`,
  );

/** Files, variables and time as they are given, with a record of secrets, warnings and output. */
export function fakeIo({
  files = {},
  env = {},
}: { files?: Record<string, string>; env?: Record<string, string> } = {}) {
  const told = {
    secrets: [] as string[],
    warnings: [] as string[],
    said: "",
    ended: [] as number[],
  };
  const clock = { now: Date.parse("2026-11-21T12:00:00Z") };
  const readFile = async (path: string): Promise<string> => {
    const text = files[path];
    return text === undefined
      ? await Promise.reject(Object.assign(new Error("no"), { code: "ENOENT" }))
      : Promise.resolve(text);
  };
  const io: SettingIo = {
    host: {
      env,
      now: () => clock.now,
      endGroup: (pid) => {
        told.ended.push(pid);
        process.kill(-pid, "SIGKILL");
      },
      stderr: { write: (text) => (told.said += text) },
    },
    sources: valueSources(
      {
        env,
        readFile: async (path) => Buffer.from(await readFile(path)),
        stdin: {
          readAll: async () => await Promise.reject(new Error("nothing is read from stdin")),
        },
      },
      (message) => void told.warnings.push(message),
    ).sources,
    redactor: {
      add: (secret) => void (told.secrets.includes(secret) || told.secrets.push(secret)),
      holds: (text) => told.secrets.some((secret) => text.includes(secret)),
    },
  };
  return { io, told, clock };
}
