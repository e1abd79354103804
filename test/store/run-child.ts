import type { ChildProcess } from "node:child_process";
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { TemporaryState } from "./temporary-state.ts";

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
