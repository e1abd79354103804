import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { setImmediate } from "node:timers/promises";
import stringWidth from "string-width";
import { sameSignalMs } from "./signals.ts";
import type { DataStream } from "./streams.ts";

export interface Ended {
  /** Its exit code, or 128 and the number of the signal that ended it. */
  exitCode: number;
  signal: NodeJS.Signals | null;
  /** It ended before all that it was to read was written. */
  unread: boolean;
}

/** Passes on a signal that was sent to this process, unless its whole process group has it, and so the program. */
export type PassOn = (signal: NodeJS.Signals) => void;

export interface ForegroundProgram {
  /** The executable; `command` begins with the name that it was called by. */
  file?: string;
  command: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Its standard input, in place of this process's own. */
  input?: string | undefined;
}

/** Signals that end a program or ask it to do something; this process listens to the others already. */
const moreSignals = ["SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

/** Bytes that a socket may take at once, and that count as read: nobody can tell what a program has read of them. */
export const takenAtOnce = 262_144;

/**
 * Runs a program in the process group of this process, so that the terminal's Ctrl-C, Ctrl-Z and changes of its size reach it by
 * themselves. `begin` is told, before it runs, what passes on the signals that this process listens to already; other signals are
 * passed on, too. Rejects with the system's error if it cannot be started.
 */
export async function runForeground(
  runtime: NodeJS.Process,
  { file, command: [name = "", ...args], env, input }: ForegroundProgram,
  begin: (passOn: PassOn) => void,
): Promise<Ended> {
  const cameAt = new Map<string, number>();
  const isNew = (signal: string): boolean => {
    const now = runtime.uptime() * 1000;
    const last = cameAt.get(signal);
    cameAt.set(signal, now);
    return last === undefined || now - last >= sameSignalMs;
  };
  const group = watchGroup(isNew);
  let child: ChildProcess | undefined;
  const passOn = (signal: NodeJS.Signals): void => {
    if (isNew(signal)) void group.got(signal).then((got) => got || child?.kill(signal));
  };
  begin(passOn);
  for (const signal of moreSignals) runtime.on(signal, passOn);
  try {
    child = spawn(file ?? name, args, {
      argv0: name,
      stdio: [input === undefined ? "inherit" : "pipe", "inherit", "inherit"],
      env: { ...env },
    });
    let unread = Buffer.byteLength(input ?? "") > takenAtOnce;
    child.stdin?.on("error", () => {}).on("finish", () => (unread = false));
    child.stdin?.end(input);
    const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    await group.settled();
    const exitCode = signal === null ? (code ?? 0) : 128 + constants.signals[signal];
    return { exitCode, signal, unread };
  } finally {
    group.end();
    for (const signal of moreSignals) runtime.off(signal, passOn);
  }
}

/**
 * A program that answers each line. A signal ends it, without a core file (a shell would not do: bash ignores SIGQUIT); so does the end
 * of this process, however that comes.
 */
const answerLines = "ulimit -c 0; exec cat";

/**
 * Tells whether a signal was sent to the whole process group (by a key of the terminal, a shell that hangs up, kill) or to this process
 * alone, which the runtime does not say: another process of the group has ended by it, or still answers.
 */
function watchGroup(onSignal: (signal: string) => void) {
  let witness: ChildProcess;
  let isOver = false;
  const start = (): void => {
    witness = spawn("/bin/sh", ["-c", answerLines], {
      cwd: "/",
      env: {},
      stdio: ["pipe", "pipe", "ignore"],
    });
    witness.on("error", () => {});
    witness.stdin?.on("error", () => {});
    witness.once("exit", (_, signal) => {
      if (signal === null || isOver) return;
      // Told last: starting one may take long under load, and this process's own signal is read only after that.
      start();
      onSignal(signal);
    });
  };
  start();
  /** Whether the group got it. Without a witness it did not: better a program that gets a signal twice than one that gets none. */
  const got = async (signal: string): Promise<boolean> => {
    if (witness.pid === undefined || witness.exitCode !== null) return false;
    const ended = new Promise((resolve) => witness.once("exit", (_, by) => resolve(by)));
    const answer = new Promise((resolve) => witness.stdout?.once("data", resolve));
    witness.stdin?.write("\n");
    // It may have been stopped with all others by Ctrl-Z, and not been continued with them.
    witness.kill("SIGCONT");
    return (await Promise.race([ended, answer])) === signal;
  };
  return {
    got,
    /** Resolves when this process has received the signals that the group has got so far, by which the program may have ended. */
    settled: async (): Promise<void> => {
      await got("");
      // From one turn of the event loop to the next, what the system has delivered is read.
      for (let turn = 0; turn < 2; turn += 1) await setImmediate();
    },
    end: (): void => {
      isOver = true;
      witness.kill("SIGKILL");
    },
  };
}

/** Height of a screen that does not report it. A pager for less than that would take what is typed or pasted next. */
const usualRows = 24;

/**
 * Shows a text on a terminal. One that is longer than the screen is shown in the pager of
 * `env` (VAULT_PAGER, even if empty), of the settings, PAGER, or less, in this order, as git does; an empty command and `cat` are
 * none. Quitting the pager early is no failure. One that cannot be started has shown nothing, and the text is written without it.
 */
export async function showText(
  screen: {
    stdout: DataStream;
    interrupted: AbortSignal;
    runForeground(program: ForegroundProgram): Promise<Ended>;
  },
  text: string,
  options: {
    isAllowed: boolean;
    setting: string | undefined;
    env: Readonly<Record<string, string>>;
  },
): Promise<void> {
  const { isAllowed, setting, env } = options;
  const chosen = env["VAULT_PAGER"] === "" ? "" : (setting ?? env["PAGER"]);
  // A terminal that cannot move its cursor makes less ask for a key first.
  const isDumb = ["", "dumb"].includes(env["TERM"] ?? "");
  const isOff = !isAllowed || isDumb || /^\s*(?:cat)?\s*$/.test(chosen ?? "less");
  const { columns, rows = usualRows } = screen.stdout;
  if (!isOff && heightOf(text, columns) >= rows)
    try {
      const { exitCode } = await screen.runForeground({
        command: chosen === undefined ? ["less"] : ["/bin/sh", "-c", chosen],
        // Leaves at once if the text fits, shows color, and leaves the text on the screen.
        env: { LESS: "FRX", LV: "-c", ...env },
        input: text,
      });
      // Of a shell whose command is not there or cannot be run.
      if (exitCode !== 126 && exitCode !== 127) return;
    } catch (error) {
      if (screen.interrupted.aborted) throw error;
    }
  await screen.stdout.write(text);
}

/** Lines of the screen that a text takes; the last one is the next prompt's. */
function heightOf(text: string, columns: number): number {
  const lines = text.replace(/\n$/, "").split("\n");
  return lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(stringWidth(line) / columns)), 0);
}
