import type { OutputConfiguration } from "commander";
import { Argument, Command as CommanderCommand, CommanderError, Option } from "commander";
import type { App } from "../app.ts";
import { completeCommand } from "../completion/protocol.ts";
import type { Known } from "../completion/candidates.ts";
import type { CommandNode } from "../completion/tree.ts";
import { withValues } from "../completion/values.ts";
import { VaultError } from "../errors.ts";
import type { Host } from "../host.ts";
import type { SettingDefinition } from "../settings/definitions.ts";
import { settingDefinitions } from "../settings/definitions.ts";
import type { ArgumentSpec, Command, Descriptor, OptionSpec, RawInput } from "./command.ts";
import { helpScreen } from "./help-screen.ts";

/** What the program is made of and where it runs. */
export interface Surroundings {
  host: Host;
  version: string;
  /** What --version prints. */
  shownVersion: string;
  /** What completion may know of this machine, and the parts that a command works with: loaded when they are needed. */
  wiring: () => Promise<{
    knownHere(host: Host): Pick<Known, "profiles" | "vaults">;
    createApp(host: Host, flags: Readonly<Record<string, unknown>>, version: string, mode: Descriptor["mode"]): Promise<App>;
  }>;
  /** `json` is set once the settings are known. */
  edge: { json: boolean };
}

/** Outcome of a run. */
export interface ProgramResult {
  exitCode: number;
  /** Help or version, for stdout. */
  text: string;
}

/** Makes the action of a command for commander. */
export type Act = (command: Command) => (...parameters: unknown[]) => Promise<void>;

/**
 * Reads the command line and runs its command. Help, version and usage errors load no more than commander and the descriptors.
 *
 * @throws VaultError; commander's own errors become `usage`.
 */
export async function runProgram(commands: readonly Command[], argv: readonly string[], around: Surroundings): Promise<ProgramResult> {
  const { host, version, shownVersion, wiring, edge } = around;
  if (argv[0] === completeCommand) return { exitCode: 0, text: await completions(commands, argv.slice(1), around) };
  const result: ProgramResult = { exitCode: 0, text: "" };
  const act: Act =
    (command) =>
    async (...parameters) => {
      const { input, globals } = readAction(parameters);
      if (command.print !== undefined) {
        result.text += await command.print(input, formatOf(globals), () => buildProgram(commands, shownVersion, act, output));
        return;
      }
      if (globals["color"] !== undefined) host.chooseColor(globals["color"] === true);
      const app = await (await wiring()).createApp(host, globals, version, command.mode);
      edge.json = app.output.format !== "table";
      const { parseOptions } = await import("./parse-options.ts");
      result.exitCode = (await command.run?.(app, parseOptions(command, input, app.output.field) as never)) ?? 0;
    };
  const output = helpOutput(host, (text) => (result.text += text));
  try {
    await buildProgram(commands, shownVersion, act, output, namedIn(commands, argv)).parseAsync(argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return result;
    const [{ usageError }, { describeCommand }] = await Promise.all([import("./usage-error.ts"), import("../completion/tree.ts")]);
    throw usageError(error, describeCommand(buildProgram(commands, version, act, output)), argv);
  }
  return result;
}

/** The answer to a completion script: whatever fails, there is nothing to offer. */
async function completions(commands: readonly Command[], words: readonly string[], { host, wiring }: Surroundings): Promise<string> {
  try {
    const [{ answer }, { describeCommand }] = await Promise.all([import("../completion/answer.ts"), import("../completion/tree.ts")]);
    const build = (named?: readonly string[]): CommandNode => describeCommand(buildProgram(commands, "", () => async () => {}, {}, named));
    let whole: CommandNode | undefined;
    const treeFor = (words?: readonly string[]): CommandNode => {
      const named = words === undefined ? undefined : namedIn(commands, words);
      return named === undefined ? (whole ??= build()) : build(named);
    };
    const known = async () => (await wiring()).knownHere(host);
    return await answer(words, treeFor, {
      variables: () => Object.keys(host.env),
      profiles: async () => await (await known()).profiles(),
      vaults: async (given) => await (await known()).vaults(given),
    });
  } catch {
    return "";
  }
}

/** Splits what commander hands to an action: positional arguments, options, the command itself. */
export function readAction(parameters: readonly unknown[]): { input: RawInput; globals: Readonly<Record<string, unknown>> } {
  const command = parameters.at(-1) as CommanderCommand;
  const options = parameters.at(-2) as RawInput["options"];
  const args = parameters.slice(0, -2) as RawInput["args"];
  return { input: { args, options }, globals: command.optsWithGlobals() };
}

/** The commands that a line may be about; undefined for all, where it names none. */
function namedIn(commands: readonly Command[], words: readonly string[]): string[] | undefined {
  const named = commands.map(({ name }) => name).filter((name) => words.includes(name));
  return named.length > 0 ? named : undefined;
}

function formatOf({ json, output }: Readonly<Record<string, unknown>>): "table" | "json" | "ndjson" {
  if (json === true || output === "json") return "json";
  return output === "ndjson" ? "ndjson" : "table";
}

/** Help goes where the result goes. Facts are given, because commander would open the process's own streams for them. */
function helpOutput(host: Host, writeOut: (text: string) => void): OutputConfiguration {
  const width = (): number => host.stdout.columns;
  const hasColors = (): boolean => host.stdout.color;
  return {
    writeOut,
    writeErr: () => undefined,
    getOutHelpWidth: width,
    getErrHelpWidth: width,
    getOutHasColors: hasColors,
    getErrHasColors: hasColors,
  };
}

/** The command tree; the whole of it, or only what `named` names: a command line uses one, and each takes its time to build. */
export function buildProgram(
  commands: readonly Command[],
  version: string,
  act: Act,
  output: OutputConfiguration,
  named?: readonly string[],
): CommanderCommand {
  const whole = (): CommanderCommand => (named === undefined ? program : buildProgram(commands, version, act, output));
  const program = new CommanderCommand("vault")
    .usage("<command> [options]")
    .configureOutput(output)
    .description("Read and update vaults without ever losing their rotating credentials.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .helpCommand(false)
    .exitOverride()
    // Help has no color: its width is its length.
    .configureHelp({ showGlobalOptions: false, sortSubcommands: false, displayWidth: (text) => text.length })
    // Ours knows the whole tree.
    .showSuggestionAfterError(false);
  addGlobalOptions(program);
  for (const command of commands) if (named?.includes(command.name) ?? true) addCommand(program, command, act);
  // Only now, so that commands do not inherit it.
  program.configureHelp({ ...program.configureHelp(), formatHelp: (_command, helper) => helpScreen(whole(), helper) });
  program.addHelpText("after", "\nExamples:\n  vault status\n  vault get $VAULT --json");
  return program;
}

function addCommand(parent: CommanderCommand, command: Command, act: Act): void {
  const { name, summary, description = `${summary[0]?.toUpperCase()}${summary.slice(1)}.` } = command;
  const made = parent.command(name).summary(summary).description(description).addHelpText("after", examplesBelow(command));
  for (const spec of Object.values(command.arguments ?? {})) {
    const argument = new Argument(spec.term, spec.help);
    made.addArgument(withSource(spec.choices === undefined ? argument : argument.choices(spec.choices), spec));
  }
  for (const spec of Object.values(command.options ?? {})) made.addOption(withSource(new Option(spec.flag, spec.help), spec));
  if (command.commands === undefined) made.action(act(command));
  else {
    made.helpCommand("help [command]", "show the help of a command");
    for (const each of command.commands) addCommand(made, each, act);
  }
}

/** What completion offers; the values themselves are checked by `parseOptions`. */
function withSource<T extends Argument | Option>(target: T, { values, oneOf, listOf }: OptionSpec | ArgumentSpec): T {
  const list = oneOf ?? listOf;
  const source = values ?? (list && { from: "list", values: list, ...(listOf && { separated: true }) });
  return source === undefined ? target : withValues(target, source);
}

function examplesBelow({ examples }: Command): string {
  const shown = examples.map((line) => `  ${line}`).join("\n");
  return `\nExamples:\n${shown}\n\nFlags of every command: vault help output. Settings: vault help environment.`;
}

function addGlobalOptions(program: CommanderCommand): void {
  const { output, debug, ...settings } = settingDefinitions;
  program.optionsGroup("Output:");
  program
    .addOption(settingOption(output))
    .option("--json", "the same as --output json")
    .option("--field <path>", "print one value, raw: --field vault.creditCard.number", onlyField)
    .option("--reveal", "show secrets in table form")
    .option("-q, --quiet", "less talk")
    .option("-v, --verbose", "more talk")
    .addOption(settingOption(debug))
    .option("--color", "colour also where the output is not a terminal")
    .option("--no-color", "no colour")
    .option("--no-input", "never ask");
  program.optionsGroup("Settings (environment variable, default):");
  for (const definition of Object.values<SettingDefinition>(settings)) {
    if (definition.flag !== undefined) program.addOption(settingOption(definition));
  }
}

/** The last one would win, silently. */
function onlyField(path: string, earlier: string | undefined): string {
  if (earlier === undefined) return path;
  throw new VaultError("usage", "--field is given twice: it prints one value", {
    hint: "name one path, as deep as you need it; --json prints the whole document",
  });
}

function settingOption({ flag = "", env, help }: SettingDefinition): Option {
  return new Option(flag, env === undefined ? help : `${help} [${env}]`);
}
