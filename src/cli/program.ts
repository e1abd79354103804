import type { OutputConfiguration } from "commander";
import { Argument, Command as CommanderCommand, CommanderError, Option } from "commander";
import type { App } from "../app.ts";
import { completeCommand } from "../completion/tree.ts";
import type { Known } from "../completion/candidates.ts";
import { VaultError } from "../errors.ts";
import type { Host } from "../host.ts";
import type { Command, Descriptor, OptionSpec, RawInput } from "./command.ts";
import { descriptionOf, globalOptions, helpOption } from "./command.ts";
import { describeCommand } from "./describe.ts";
import { helpScreen, originsIn } from "./help-screen.ts";

/** Where the program runs, and how it loads its parts. */
export interface Surroundings {
  host: Host;
  version: string;
  /** What --version prints. */
  shownVersion: string;
  /** Loads what completion may know of this machine, and the parts that a command works with. */
  wiring: () => Promise<{
    knownHere(host: Host): Pick<Known, "fields" | "profiles" | "vaults">;
    createApp(
      host: Host,
      flags: Readonly<Record<string, unknown>>,
      version: string,
      mode: Descriptor["mode"],
      words?: readonly string[],
    ): Promise<App>;
  }>;
  /** Refuses, as `usage`, a --field that the documents of a command cannot have. The command is given by its words. */
  checkField: (command: string, field: string) => Promise<void>;
  /** `json` is set once the settings are known. */
  edge: { json: boolean };
}

/** Makes the action of a command for commander. */
export type Act = (command: Command) => (...parameters: unknown[]) => Promise<void>;

/**
 * Reads the command line, runs its command, and resolves to the exit code. Help, version and usage errors load no more than
 * commander and the descriptors, unless there is a screen to show help on.
 *
 * @throws VaultError; commander's own errors become `usage`.
 */
export async function runProgram(
  root: Command,
  argv: readonly string[],
  around: Surroundings,
): Promise<number> {
  const { host, version, shownVersion, wiring, edge, checkField } = around;
  if (argv[0] === completeCommand) {
    await host.stdout.write(await completions(root, argv.slice(1), around));
    return 0;
  }
  const result = { exitCode: 0, text: "", isShown: false };
  const act: Act =
    (command) =>
    async (...parameters) => {
      const { input, globals, words } = readAction(parameters);
      if (command.print !== undefined) {
        const build = (): CommanderCommand => buildProgram(root, shownVersion, act, output);
        const format = formatOf(globals);
        result.isShown = command.isShown === true && format === "table";
        result.text += await command.print(input, format, { root, build });
        return;
      }
      // Of what parses, only these lines can be meant otherwise.
      const takesProgram = Object.values(command.arguments ?? {}).some(
        ({ values }) => values?.from === "programs",
      );
      if (
        takesProgram !== argv.includes("--") ||
        argv.some((word) => /^-*[\u2010-\u2212]/.test(word))
      ) {
        const { dashError } = await import("./usage-error.ts");
        const error = dashError(describeCommand(root), argv);
        if (error !== undefined) throw error;
      }
      if (globals["color"] !== undefined) host.chooseColor(globals["color"] === true);
      const app = await (await wiring()).createApp(host, globals, version, command.mode, argv);
      edge.json = app.io.output.format !== "table";
      const { parseOptions } = await import("./parse-options.ts");
      const options = parseOptions(command, input);
      const { field } = app.io.output;
      if (field !== undefined) await checkField(words.join(" "), field);
      result.exitCode = await runLabelled(app, command, await withVault(app, command, options));
    };
  const output = helpOutput(host, (text) => {
    result.isShown = true;
    result.text += text;
  });
  const isAlone = isGroup(root, argv);
  const words = isAlone ? [...argv, "--help"] : argv;
  const program = buildProgram(root, shownVersion, act, output, words);
  try {
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) {
      const { dashError, usageError } = await import("./usage-error.ts");
      const tree = describeCommand(root);
      throw dashError(tree, argv) ?? usageError(error, tree, argv);
    }
  }
  if (result.isShown && host.stdout.isTTY && !isAlone)
    await showHelp(result.text, program.opts(), around);
  else if (result.text !== "") await host.stdout.write(result.text);
  return result.exitCode;
}

/** Whether words are the name of a group alone, as no words are that of the program: they ask what there is. */
const isGroup = ({ commands }: Command, [first, ...rest]: readonly string[]): boolean =>
  first === undefined
    ? commands !== undefined
    : commands?.some((command) => command.name === first && isGroup(command, rest)) === true;

/** Shows help by the pager of the settings. It is there to read about settings that are wrong, too. */
async function showHelp(
  text: string,
  flags: Readonly<Record<string, unknown>>,
  { host, version, wiring }: Surroundings,
): Promise<void> {
  const parts = await wiring();
  const app = await parts.createApp(host, flags, version, "lenient").catch(() => undefined);
  await (app === undefined ? host.stdout.write(text) : app.io.show(text));
}

/** Runs the command. A JSON error about a vault has its label beside the UUID. */
async function runLabelled(app: App, { run }: Command, options: object): Promise<number> {
  try {
    return (await run?.(app, options as never)) ?? 0;
  } catch (error) {
    if (app.io.output.format === "table" || !(error instanceof VaultError)) throw error;
    throw await (await import("./vault-name.ts")).withLabel(app.state, error);
  }
}

/** The options with the UUID of the vault that an argument names. */
async function withVault(
  app: App,
  { arguments: terms = {}, callsService }: Descriptor,
  options: object = {},
): Promise<object> {
  const [name] = Object.entries(terms).find(([, { isVault }]) => isVault) ?? [];
  const given = name === undefined ? undefined : (options as Record<string, unknown>)[name];
  // Several are resolved together, by the command.
  const [only, ...more] = [given].flat();
  if (name === undefined || typeof only !== "string" || more.length > 0) return options;
  const { vaultNamed } = await import("./vault-name.ts");
  const uuid = await vaultNamed(app, only).catch(async (error: unknown) => {
    const { missingIn, missingSettings } = await import("../settings/settings.ts");
    const missing = callsService === true ? missingIn(app.settings) : [];
    throw missing.length > 0 ? missingSettings(missing) : error;
  });
  return { ...options, [name]: Array.isArray(given) ? [uuid] : uuid };
}

/** The answer to a completion script: whatever fails, there is nothing to offer. */
async function completions(
  root: Command,
  words: readonly string[],
  { host, wiring }: Surroundings,
): Promise<string> {
  try {
    const { answer } = await import("../completion/candidates.ts");
    const known = async () => (await wiring()).knownHere(host);
    return await answer(words, describeCommand(root), {
      variables: () => Object.keys(host.env),
      profiles: async () => await (await known()).profiles(),
      vaults: async (given) => await (await known()).vaults(given),
      fields: async (given, vault) => await (await known()).fields(given, vault),
    });
  } catch {
    return "";
  }
}

/** Splits what commander hands to an action: positional arguments, options, the command itself with the words that name it. */
export function readAction(parameters: readonly unknown[]): {
  input: RawInput;
  globals: Readonly<Record<string, unknown>>;
  words: string[];
} {
  const command = parameters.at(-1) as CommanderCommand;
  const options = parameters.at(-2) as RawInput["options"];
  const args = parameters.slice(0, -2) as RawInput["args"];
  const words: string[] = [];
  for (let at = command; at.parent !== null; at = at.parent) words.unshift(at.name());
  return { input: { args, options }, globals: command.optsWithGlobals(), words };
}

/** The commands that a line may be about: all of them where it names none. The first screen is made of the descriptors. */
function namedIn({ commands = [] }: Command, words: readonly string[]): readonly Command[] {
  if (words.length === 1 && helpOption.flag.split(", ").includes(words[0] ?? "")) return [];
  const named = commands.filter(({ name }) => words.includes(name));
  return named.length > 0 ? named : commands;
}

function formatOf({
  json,
  output,
}: Readonly<Record<string, unknown>>): "table" | "json" | "ndjson" {
  if (json === true || output === "json") return "json";
  return output === "ndjson" ? "ndjson" : "table";
}

/** Sends help to where the result goes. commander would open the process's own streams to find out width and color. */
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

/** The command tree, or the part of it that `words` may be about: each command takes its time to build. */
export function buildProgram(
  root: Command,
  version: string,
  act: Act,
  output: OutputConfiguration,
  words: readonly string[] = [],
): CommanderCommand {
  const program = new CommanderCommand(root.name)
    .configureOutput(output)
    .description(descriptionOf(root))
    .version(version, globalOptions.version.flag, globalOptions.version.help)
    .helpOption(helpOption.flag, helpOption.help)
    .helpCommand(false)
    .exitOverride()
    // Help has no color: its width is its length.
    .configureHelp({
      showGlobalOptions: false,
      sortSubcommands: false,
      displayWidth: (text) => text.length,
    })
    // Ours knows the whole tree.
    .showSuggestionAfterError(false);
  const { version: _, ...options } = globalOptions;
  for (const [name, { flag, help }] of Object.entries(options)) {
    const option = new Option(flag, help);
    program.addOption(name === "field" ? option.argParser(onlyField) : option);
  }
  for (const command of namedIn(root, words)) addCommand(program, command, act);
  // Only now, so that commands do not inherit it.
  program.configureHelp({
    ...program.configureHelp(),
    formatHelp: (_command, helper) => helpScreen(root, helper),
  });
  return program.addHelpText("after", examplesOf(root.examples));
}

function addCommand(parent: CommanderCommand, command: Command, act: Act): void {
  const below = `${examplesOf([...command.examples, ...originsIn(command.examples)])}\n\nFlags of every command: vault help output. Settings: vault help environment.`;
  const made = parent
    .command(command.name)
    .summary(command.summary)
    .description(descriptionOf(command))
    .addHelpText("after", below);
  for (const { term, help, choices } of Object.values(command.arguments ?? {})) {
    const argument = new Argument(term, help);
    made.addArgument(choices === undefined ? argument : argument.choices(choices));
  }
  for (const spec of Object.values(command.options ?? {})) made.addOption(optionOf(spec));
  if (command.commands === undefined) made.action(act(command));
  else {
    made.helpCommand("help [command]", "show help for a command");
    for (const each of command.commands) addCommand(made, each, act);
  }
}

function optionOf({ flag, help, repeated, conflicts = [] }: OptionSpec): Option {
  const option = new Option(flag, help).conflicts([...conflicts]);
  if (repeated === undefined) return option;
  option.variadic = false;
  return option.argParser((value, earlier: readonly string[] | undefined) => [
    ...(earlier ?? []),
    value,
  ]);
}

const examplesOf = (lines: readonly string[]): string =>
  ["\nExamples:", ...lines.map((line) => `  ${line}`)].join("\n");

/** Refuses a second --field: commander would silently take the last. */
function onlyField(path: string, earlier: string | undefined): string {
  if (earlier === undefined) return path;
  throw new VaultError("usage", "--field is given twice, but prints only one value", {
    hint: "give one path; --json prints the whole document",
  });
}
