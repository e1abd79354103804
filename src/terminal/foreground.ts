import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { isatty } from "node:tty";

/** How a program in the foreground ended. */
export interface Ended {
  /** Its exit code, or 128 and the number of the signal that ended it. */
  exitCode: number;
  signal: NodeJS.Signals | null;
  /** It ended before all that it was to read was written. */
  unread: boolean;
}

/** Passes on a signal that was sent to this process, unless the terminal has sent it to the program, too. */
export type PassOn = (signal: NodeJS.Signals) => void;

export interface ForegroundProgram {
  /** The executable; `command` begins with the name that it was called by. */
  file?: string;
  command: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Its standard input, in place of this process's own. */
  input?: string | undefined;
}

/** What ends a process or, of a program, asks it to do something; other signals of ours are listened to already. */
const moreSignals = ["SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

/** Time within which a second signal is the same one, sent to the process and to its group (as timeout(1) does), in milliseconds. */
const sameSignalMs = 100;

/**
 * Runs a program in the process group of this process, so that the terminal's Ctrl-C, Ctrl-Z and changes of its size reach it by
 * themselves. `begin` is told, before it runs, what passes on the signals that this process listens to already; other signals are
 * passed on, too. Rejects with the system's error where it cannot be started.
 */
export async function runForeground(
  runtime: NodeJS.Process,
  { file, command: [name = "", ...args], env, input }: ForegroundProgram,
  begin: (passOn: PassOn) => void,
): Promise<Ended> {
  const terminal = terminalOf(runtime);
  const last = new Map<NodeJS.Signals, number>();
  let child: ChildProcess | undefined;
  const passOn: PassOn = (signal) => {
    const now = runtime.uptime() * 1000;
    const isSame = now - (last.get(signal) ?? -sameSignalMs) < sameSignalMs;
    last.set(signal, now);
    if (!isSame && !isOfTerminal(signal, terminal, terminalOf(runtime))) child?.kill(signal);
  };
  begin(passOn);
  for (const signal of moreSignals) runtime.on(signal, passOn);
  try {
    child = spawn(file ?? name, args, {
      argv0: name,
      stdio: [input === undefined ? "inherit" : "pipe", "inherit", "inherit"],
      env: { ...env },
    });
    let unread = input !== undefined;
    child.stdin?.on("error", () => {}).on("finish", () => (unread = false));
    child.stdin?.end(input);
    const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    const exitCode = signal === null ? (code ?? 0) : 128 + constants.signals[signal];
    return { exitCode, signal, unread };
  } finally {
    for (const signal of moreSignals) runtime.off(signal, passOn);
  }
}

/** The controlling terminal of this process. */
interface Terminal {
  isThere: boolean;
  /** What is typed on it goes to the process group of this process. */
  isOurs: boolean;
}

/** Whether the terminal has sent the signal to the whole process group: a key, or the line that was hung up. */
function isOfTerminal(signal: NodeJS.Signals, atStart: Terminal, now: Terminal): boolean {
  if (signal === "SIGINT" || signal === "SIGQUIT") return now.isOurs;
  return signal === "SIGHUP" && atStart.isThere && !now.isThere;
}

function terminalOf({ platform }: NodeJS.Process): Terminal {
  if (platform === "linux") {
    const stat = readFileSync("/proc/self/stat", "latin1");
    // After the name, which may hold anything: state, parent, group, session, terminal, the terminal's foreground group.
    const [, , group, , terminal, foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { isThere: terminal !== "0", isOurs: foreground === group };
  }
  const isThere = [0, 1, 2].some((fd) => isatty(fd));
  return { isThere, isOurs: isThere };
}
