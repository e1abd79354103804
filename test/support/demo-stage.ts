import type { ChildProcess, StdioOptions } from "node:child_process";
import { spawn } from "node:child_process";

/** Where the demo plays: one program, one environment, one folder. */
export interface Stage {
  /** The file that Node runs as `vault`. */
  program: string;
  folder: string;
  env: Record<string, string>;
}

const { stdout } = process;
const paint = (code: string, text: string): string => (stdout.isTTY && !process.env["NO_COLOR"] ? `\u001B[${code}m${text}\u001B[0m` : text);

/** What a step shows, in one line. */
export function narrate(line: string): void {
  stdout.write(`\n${paint("1", `# ${line}`)}\n`);
}

/** A command as it would be typed: variables in place of values that nobody would type. */
export function prompt(shown: string): void {
  stdout.write(`${paint("36", `$ ${shown}`)}\n`);
}

/** Whatever is not as it must be ends the demo. */
export function expectThat(condition: boolean, what: string): void {
  if (!condition) throw new Error(`the demo did not go as expected: ${what}`);
}

const running = new Set<ChildProcess>();

function start(stage: Stage, args: readonly string[], stdio: StdioOptions): ChildProcess {
  const child = spawn(process.execPath, [stage.program, ...args], { cwd: stage.folder, env: stage.env, stdio });
  running.add(child);
  child.once("close", () => running.delete(child));
  return child;
}

export function killAll(): void {
  for (const child of running) child.kill("SIGKILL");
}

const ended = (child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> =>
  new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal }));
  });

/** Runs a command on this process's own terminal, if it has one: it looks as it does when a person types it. */
export async function run(stage: Stage, shown: string, args: readonly string[], exitCode = 0): Promise<void> {
  prompt(shown);
  const { code } = await ended(start(stage, args, ["ignore", "inherit", "inherit"]));
  // A value without its newline, where there is no terminal.
  if (args.includes("--field") && !stdout.isTTY) stdout.write("\n");
  expectThat(code === exitCode, `${shown} ended with ${code}`);
}

/** The JSON document of a command, not shown. */
export async function ask(stage: Stage, args: readonly string[]): Promise<unknown> {
  const child = start(stage, [...args, "--json"], ["ignore", "pipe", "inherit"]);
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const { code } = await ended(child);
  expectThat(code === 0, `vault ${args.join(" ")} ended with ${code}`);
  return JSON.parse(text);
}

export interface Background {
  /** Resolves when the output (both streams together) matches; rejects if the program ends without it. */
  until(pattern: RegExp): Promise<void>;
  /** Sends the signal and resolves when the process is gone, with what ended it. */
  stop(signal: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/** Starts a command and shows its output as it comes. */
export function runInBackground(stage: Stage, shown: string, args: readonly string[]): Background {
  prompt(shown);
  const child = start(stage, stdout.isTTY ? [...args, "--color"] : args, ["ignore", "pipe", "pipe"]);
  const end = ended(child);
  let seen = "";
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      stdout.write(chunk);
      seen += chunk;
      for (const listener of listeners) listener();
    });
  }
  const until = (pattern: RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (pattern.test(seen)) resolve();
      };
      listeners.add(look);
      look();
      end.then(({ code }) => reject(new Error(`${shown} ended with ${code} before ${pattern} was seen`)), reject);
    });
  const stop = (signal: NodeJS.Signals): ReturnType<typeof ended> => {
    child.kill(signal);
    return end;
  };
  return { until, stop };
}
