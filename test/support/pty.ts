import { spawn } from "node:child_process";
import { platform } from "node:os";
import { stripVTControlCharacters } from "node:util";
import { cleanEnv, vaultCommand, type RunOptions } from "./run-vault.ts";

export interface PtyOptions extends Pick<
  RunOptions,
  "env" | "stateDir" | "configDir" | "cwd" | "timeoutMs"
> {
  columns?: number;
  rows?: number;
}

interface PtyResult {
  /** Of the program; 128 and the signal's number where it died of one. */
  code: number | null;
  /** All that was shown, with line ends as \n, and what was typed where it was echoed. */
  raw: string;
  /** The same without colors and other control sequences. */
  text: string;
}

export interface RunningInPty {
  /** As typed on a keyboard: "\r" is return, "\x03" Ctrl-C. */
  type(keys: string): void;
  /** Closes the terminal, as a window or a connection does. */
  hangUp(): void;
  /** The first match in the text shown so far or later; rejects if the program ends without it. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  readonly exit: Promise<PtyResult>;
}

/** `vault` with these arguments on a pseudo-terminal. */
export function vaultInPty(args: readonly string[], options: PtyOptions = {}): RunningInPty {
  return startInPty([...vaultCommand, ...args], options);
}

/** Runs a command on a pseudo-terminal made by script(1), which every Linux and macOS has. */
export function startInPty(command: readonly string[], options: PtyOptions = {}): RunningInPty {
  const { columns = 80, rows = 24, timeoutMs = 30_000 } = options;
  const line = `stty cols ${columns} rows ${rows}; exec ${command.map(quote).join(" ")}`;
  const script =
    platform() === "darwin"
      ? ["-q", "/dev/null", "/bin/sh", "-c", line]
      : ["-qefc", line, "/dev/null"];
  const child = spawn("script", script, {
    cwd: options.cwd,
    // A pager would wait for a key.
    env: {
      ...cleanEnv({ ...options, env: { PAGER: "cat", ...options.env } }),
      SHELL: "/bin/sh",
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => {});

  let raw = "";
  const listeners = new Set<() => void>();
  const shown = (): string => stripVTControlCharacters(raw);
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      raw = (raw + chunk).replaceAll("\r\n", "\n");
      for (const listener of listeners) listener();
    });
  }

  const exit = new Promise<PtyResult>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      reject(
        new Error(
          `${command.join(" ")} still ran after ${timeoutMs} ms, having shown:\n${shown()}`,
        ),
      );
    }, timeoutMs);
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code, raw, text: shown() });
    });
  });
  exit.catch(() => {});

  async function waitFor(pattern: RegExp): Promise<RegExpExecArray> {
    const found = new Promise<RegExpExecArray>((resolve) => {
      const listener = (): void => {
        const match = pattern.exec(shown());
        if (match === null) return;
        listeners.delete(listener);
        resolve(match);
      };
      listeners.add(listener);
      listener();
    });
    const ended = exit.then(({ text }) => {
      throw new Error(`${command.join(" ")} ended without ${pattern}, having shown:\n${text}`);
    });
    return Promise.race([found, ended]);
  }

  return {
    type: (keys) => void child.stdin.write(keys),
    hangUp: () => void child.kill("SIGKILL"),
    waitFor,
    exit,
  };
}

/** For a POSIX shell. */
export function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
