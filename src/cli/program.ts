import { CommanderError } from "commander";
import type * as wired from "../app.ts";
import type { Given } from "../completion/candidates.ts";
import { VaultError } from "../errors.ts";
import type { Host } from "../host.ts";
import type { Command } from "./command.ts";
import { buildProgram, checkProgram, pathOf, type Act } from "./commander.ts";

/**
 * The hidden command that completion scripts call with the words of a command line, up to the cursor. It prints a line for each
 * candidate, with a tab and a description, and a last line that begins with a colon: `:done`, `:nospace`, `:files PREFIX` or
 * `:directories PREFIX`. Output without that line is incomplete.
 */
export const completeCommand = "__complete";

export interface Surroundings {
  host: Host;
  version: string;
  /** Loads what completion may know of this machine, and the parts that a command works with. */
  wiring: () => Promise<typeof wired>;
  /** Whether errors are JSON: until the settings are known, as the words of the line have it. */
  edge: { json: boolean };
}

/**
 * Reads the command line, runs its command, and resolves to the exit code. Help, version and usage errors load no more than
 * commander and the commands that the line names, unless there is a screen to show help on.
 * @throws VaultError
 */
export async function runProgram(
  root: Command,
  argv: readonly string[],
  around: Surroundings,
): Promise<number> {
  const { host, version, wiring, edge } = around;
  if (argv[0] === completeCommand) {
    await host.stdout.write(await completions(root, argv.slice(1), around));
    return 0;
  }
  let help = "";
  let exitCode = 0;
  const act: Act = async (command, given) => {
    const { descriptor } = command;
    const globals = command.optsWithGlobals();
    checkProgram(command, argv);
    if (globals["color"] !== undefined) host.chooseColor(globals["color"] === true);
    const { createApp, checkField } = await wiring();
    const app = await createApp(host, globals, version, descriptor.mode, argv);
    const { field, format } = app.io.output;
    edge.json = format !== "table";
    if (field !== undefined) await checkField(pathOf(command).slice(1).join(" "), field);
    try {
      exitCode = (await descriptor.run?.(app, given as never, program)) ?? 0;
    } catch (error) {
      if (!edge.json || !(error instanceof VaultError)) throw error;
      // A JSON error about a vault has its label beside the UUID.
      throw await (await import("./vault-name.ts")).withLabel(app.state, error);
    }
  };
  const write = (text: string): void => void (help += text);
  const program = await buildProgram(root, host, { words: argv, act, write });
  // The name of a group alone, like no words at all, asks what there is.
  const isAlone = (program.at(argv)?.commands ?? []).length > 0;
  try {
    await program.parseAsync(isAlone ? [...argv, "--help"] : argv, { from: "user" });
  } catch (error) {
    // Help ends so.
    if (!(error instanceof CommanderError)) throw error;
  }
  if (help === "") return exitCode;
  // It is there to read about settings that are wrong, too.
  const parts = host.stdout.isTTY && !isAlone ? await wiring() : undefined;
  const made = parts?.createApp(host, program.opts(), version, "lenient");
  const app = await made?.catch(() => undefined);
  await (app === undefined ? host.stdout.write(help) : app.io.show(help));
  return exitCode;
}

/** The answer to a completion script: whatever fails, there is nothing to offer. */
async function completions(
  root: Command,
  words: readonly string[],
  { host, wiring }: Surroundings,
): Promise<string> {
  try {
    const { answer } = await import("../completion/candidates.ts");
    const known = async (given: Given) => (await wiring()).knownHere(host, given);
    return await answer(words, await buildProgram(root, host, { words }), known);
  } catch {
    return "";
  }
}
