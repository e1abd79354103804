import type { Command } from "commander";
import type { App } from "../app.ts";

/** The program's own flags and those of one command, as commander hands them over. */
export type GlobalFlags = Readonly<Record<string, unknown>>;

/** A command line as commander read it: nothing is checked yet. */
export interface RawInput {
  args: readonly (string | readonly string[] | undefined)[];
  options: Readonly<Record<string, unknown>>;
}

/** The third part of a command. Its module, with all that it needs, is loaded only when it is called. */
export type RunCommand = (app: App, input: RawInput) => Promise<number>;

/** How a command is run where the configuration cannot be used: `lenient` with the defaults, or to mend it. */
export type Mode = "lenient" | "mends-configuration";

/**
 * Turns a lazily loaded command into a commander action, and keeps its exit code. With a mode it is run also where the
 * configuration cannot be used, and finds that in `App.configuration`.
 */
export type Act = (load: () => Promise<RunCommand>, mode?: Mode) => (...parameters: unknown[]) => Promise<void>;

/** Splits what commander hands to an action: positional arguments, options, the command itself. */
export function readAction(parameters: readonly unknown[]): { input: RawInput; globals: GlobalFlags } {
  const command = parameters.at(-1) as Command;
  const options = parameters.at(-2) as Record<string, unknown>;
  const args = parameters.slice(0, -2) as RawInput["args"];
  return { input: { args, options }, globals: command.optsWithGlobals() };
}

/** What stands below a command's help. Each example works when pasted against the sandbox. */
export function examples(...lines: string[]): string {
  const shown = lines.map((line) => `  ${line}`).join("\n");
  return `\nExamples:\n${shown}\n\nFlags of every command: vault help output. Settings: vault help environment.`;
}
