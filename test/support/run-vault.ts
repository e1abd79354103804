import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { checkPrinted } from "./documents.ts";
import { tempDir, atEndOfFile } from "./cleanup.ts";

/** The program of this checkout. */
export const vaultBin = join(import.meta.dirname, "..", "..", "bin", "vault.js");
/** Another program that is tested in its place: the single executable. */
const executable = process.env["TEST_PROGRAM"];
/** The program as a user starts it: a file, and a command with the runtime of the tests. */
export const vaultFile = executable ?? vaultBin;
export const vaultCommand: readonly string[] =
  executable === undefined ? [process.execPath, vaultBin] : [executable];
/** A program that counts a signal, for the runtime of the tests: see there. */
export const signalCounter = join(import.meta.dirname, "count-signal.cjs");

export interface RunOptions {
  /** On top of a clean environment; undefined takes a variable away. */
  env?: Readonly<Record<string, string | undefined>>;
  /** All of standard input. Without it, there is none. */
  input?: string | Uint8Array;
  stateDir?: string;
  configDir?: string;
  cwd?: string;
  /** The child is killed then, and the promise rejects with what it had printed. Default 30 s. */
  timeoutMs?: number;
  /** Sends a signal as soon as the output (stdout, stderr) matches. */
  signalAt?: { output: RegExp; signal: NodeJS.Signals };
  /** Another runtime or another installation of the program. */
  node?: string;
  bin?: string;
  /** A command that starts the runtime, with its arguments, like strace. */
  through?: readonly string[];
}

export interface RunResult {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface RunningVault {
  readonly pid: number;
  readonly child: ChildProcess;
  /** What it has printed so far. */
  readonly stdout: string;
  readonly stderr: string;
  /** The first match in stdout (or in stderr), now or later; rejects if the program ends without it. */
  waitFor(pattern: RegExp, stream?: "stdout" | "stderr"): Promise<RegExpExecArray>;
  kill(signal?: NodeJS.Signals): void;
  readonly exit: Promise<RunResult>;
}

/** Runs the program to its end. A failing program is a result, not a rejection. */
export function runVault(args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  return startVault(args, options).exit;
}

/** The program's cache of compiled code, the same for all tests of a run: in a home of its own each process would compile it all. */
export const compiled = process.env["TEST_COMPILED"] ?? tempDir("compiled");

/** Nothing of the machine's own settings: no CI, no NO_COLOR, no proxies, no VAULTSVC_*; a home folder of its own. */
export function cleanEnv(
  options: Pick<RunOptions, "env" | "stateDir" | "configDir"> = {},
): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = {
    PATH: process.env["PATH"],
    LANG: "C.UTF-8",
    TZ: "UTC",
    TERM: "xterm-256color",
    XDG_CACHE_HOME: compiled,
  };
  if (options.stateDir !== undefined) env["VAULTSVC_STATE"] = options.stateDir;
  if (options.configDir !== undefined) env["VAULTSVC_CONFIG_DIR"] = options.configDir;
  Object.assign(env, options.env);
  if (!("HOME" in env)) env["HOME"] = tempDir("home");
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
}

export function startVault(args: readonly string[], options: RunOptions = {}): RunningVault {
  const { input, signalAt, timeoutMs = 30_000 } = options;
  const isChosen = options.node !== undefined || options.bin !== undefined;
  const program = isChosen
    ? [options.node ?? process.execPath, options.bin ?? vaultBin]
    : vaultCommand;
  const [command = "", ...rest] = [...(options.through ?? []), ...program, ...args];
  const child = spawn(command, rest, {
    cwd: options.cwd,
    env: cleanEnv(options),
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  atEndOfFile(() => child.kill("SIGKILL"));
  // A program that does not read its input to the end may close it.
  child.stdin?.on("error", () => {});
  child.stdin?.end(input);

  const text = { stdout: "", stderr: "" };
  const listeners = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (chunk: string) => {
      text[name] += chunk;
      for (const listener of listeners) listener();
    });
  }
  if (signalAt !== undefined) {
    const listener = (): void => {
      if (!signalAt.output.test(text.stdout) && !signalAt.output.test(text.stderr)) return;
      listeners.delete(listener);
      child.kill(signalAt.signal);
    };
    listeners.add(listener);
  }

  const exit = new Promise<RunResult>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      reject(
        new Error(
          `vault ${args.join(" ")} still ran after ${timeoutMs} ms\nstdout: ${text.stdout}\nstderr: ${text.stderr}`,
        ),
      );
    }, timeoutMs);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      try {
        checkPrinted(args, { code, ...text });
        resolve({ code, signal, ...text });
      } catch (error) {
        reject(error);
      }
    });
  });
  // Whoever only waits for a line learns of a time-out there.
  exit.catch(() => {});

  async function waitFor(
    pattern: RegExp,
    stream: "stdout" | "stderr" = "stdout",
  ): Promise<RegExpExecArray> {
    const found = new Promise<RegExpExecArray>((resolve) => {
      const listener = (): void => {
        const match = pattern.exec(text[stream]);
        if (match === null) return;
        listeners.delete(listener);
        resolve(match);
      };
      listeners.add(listener);
      listener();
    });
    const ended = exit.then((result) => {
      throw new Error(
        `vault ${args.join(" ")} ended without ${pattern}: ${JSON.stringify(result)}`,
      );
    });
    return Promise.race([found, ended]);
  }

  return {
    pid: child.pid ?? -1,
    child,
    exit,
    waitFor,
    kill: (signal = "SIGTERM") => void child.kill(signal),
    get stdout() {
      return text.stdout;
    },
    get stderr() {
      return text.stderr;
    },
  };
}

/**
 * The shell's own way to do many things at once: `xargs -P16`, with a process of the program for each word, in place of `{}`. They are
 * started by another process than the test's, in which the emulated service has to respond.
 */
export async function xargs(
  words: readonly string[],
  args: readonly string[],
  env: Record<string, string>,
): Promise<{ code: number | null; stderr: string }> {
  const command = ["-P16", "-I{}", ...vaultCommand, ...args];
  const child = spawn("xargs", command, {
    env: cleanEnv({ env }),
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdout?.resume();
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  child.stdin?.end(words.join("\n"));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stderr };
}

/** What makes a program that is run with `env` tell how much memory it had. */
interface MemoryReport {
  env: Record<string, string>;
  /** The most that it had, once it has ended. */
  kilobytes(): number;
}

export function memoryReport(): MemoryReport {
  const file = join(tempDir("memory"), "kilobytes");
  return {
    env: {
      NODE_OPTIONS: `--require=${join(import.meta.dirname, "peak-memory.cjs")}`,
      MEMORY_FILE: file,
    },
    kilobytes: () => Number(readFileSync(file, "utf8")),
  };
}

const root = join(import.meta.dirname, "..", "..");

/**
 * The launcher in a folder of its own, with the real host and a stub for the program; the pinned runtime beside it, or not.
 * Returns the path of its bin/vault.js.
 */
export function stubProgram(options: { pinned: boolean }): string {
  const folder = tempDir("stub");
  cpSync(join(root, "bin"), join(folder, "bin"), { recursive: true });
  mkdirSync(join(folder, "dist"));
  const main = join(root, "test", "bin", "fixtures", "stub-main.cjs");
  const host = join(root, "src", "host.ts");
  const program = `module.exports = { ...require(${JSON.stringify(main)}), ...require(${JSON.stringify(host)}) };\n`;
  writeFileSync(join(folder, "dist", "vault.cjs"), program);
  if (options.pinned) {
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(join(root, "node_modules", "node"), join(folder, "node_modules", "node"));
  }
  return join(folder, "bin", "vault.js");
}

/** The demo note of every sandbox. */
export const demoNote = "e2c7d9f4-1c3b-4f0a-9d8e-7b6a5c4d3e21";

/** Whether scripts with curl and jq can run: a new machine may lack them. */
export const hasCurl = (): boolean =>
  ["curl", "jq"].every((program) => spawnSync(program, ["--version"]).status === 0);

interface Rehearsed {
  scenarios: {
    call: { n: number; method: string; endpoint: string };
    failure: string;
    outcome: string;
    check: number;
  }[];
  warnings: string[];
}

/** Runs `vault sandbox rehearse --json`. */
export async function rehearse(
  ...args: string[]
): Promise<{ code: number | null; stderr: string; document: Rehearsed }> {
  const { code, stdout, stderr } = await runVault(["sandbox", "rehearse", "--json", ...args], {
    timeoutMs: 150_000,
  });
  return {
    code,
    stderr,
    document: stdout === "" ? { scenarios: [], warnings: [] } : (JSON.parse(stdout) as Rehearsed),
  };
}
