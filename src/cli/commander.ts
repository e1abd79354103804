import {
  Argument,
  Command as CommanderCommand,
  Help,
  InvalidArgumentError,
  Option,
} from "commander";
import type { HelpContext } from "commander";
import { VaultError } from "../errors.ts";
import type { Host } from "../host.ts";
import type { ArgumentSpec, Command, OptionSpec, ValueSource } from "./command.ts";
import { specOf } from "./command.ts";
import { topics } from "./topics.ts";
import { command as wayTo, fold, type Way } from "../way.ts";
import { oneOf, text, valueOf } from "./values.ts";

export class CliCommand extends CommanderCommand {
  /** Empty for one that is only listed. */
  descriptor: Command = { examples: [] };
  declare commands: readonly CliCommand[];
  declare parent: CliCommand | null;

  /** Its own options, then those of the commands above it. */
  get allOptions(): CliOption[] {
    return [...(this.options as CliOption[]), ...(this.parent?.allOptions ?? [])];
  }

  /** The command that words name, each below the one before; undefined if one of them names none. */
  at(words: readonly string[]): CliCommand | undefined {
    const [first, ...rest] = words;
    if (first === undefined) return this;
    return this.commands.find((command) => command.name() === first)?.at(rest);
  }

  override createHelp(): Help {
    return Object.assign(new CliHelp(), this.configureHelp());
  }

  override error(message: string, { code = "" }: { code?: string } = {}): never {
    throw usageError(this, code, message);
  }

  override help(context?: HelpContext | ((text: string) => string)): never {
    if (typeof context === "object" && context.error) throw usageError(this, "commander.help", "");
    return super.help();
  }
}

/** commander's option and argument, with what completion offers. */
export class CliOption extends Option {
  declare conflictsWith: readonly string[];
  requires: readonly string[] = [];
  values: ValueSource | undefined;
  /** It is given once for each value: commander's own would take all words that follow. */
  isMany = false;
}
export class CliArgument extends Argument {
  values: ValueSource | undefined;
}

/** Runs a command with what commander has read. */
export type Act = (command: CliCommand, given: Readonly<Record<string, unknown>>) => Promise<void>;

interface Building {
  /** The words of the line: commands that are not among them are listed, and not loaded. */
  words?: readonly string[];
  /** Runs a command. Without it values are read as they are. */
  act?: Act;
  /** Takes help that is asked for. */
  write?: (text: string) => void;
}

export async function buildProgram(
  root: Command,
  { stdout }: { stdout: Pick<Host["stdout"], "columns"> },
  { words, act, write = () => undefined }: Building = {},
): Promise<CliCommand> {
  const isNeeded = (name: string): boolean => words?.includes(name) ?? true;
  const program = new CliCommand("vault")
    // commander would open the process's own streams to find out width and color, of which help has none.
    .configureOutput({
      writeOut: write,
      getOutHelpWidth: () => stdout.columns,
      getOutHasColors: () => false,
    })
    .exitOverride();
  return await complete(program, root, act, isNeeded);
}

async function complete(
  command: CliCommand,
  descriptor: Command,
  act: Act | undefined,
  isNeeded: (name: string) => boolean,
): Promise<CliCommand> {
  command.descriptor = descriptor;
  const summary = command.summary();
  const { arguments: terms = {}, options = {} } = descriptor;
  const { description = `${summary[0]?.toUpperCase()}${summary.slice(1)}.` } = descriptor;
  command.description(description).helpOption("-h, --help", "show this help");
  for (const spec of Object.values(terms)) command.addArgument(argumentOf(spec, act !== undefined));
  for (const [flag, spec] of Object.entries(options))
    command.addOption(optionOf(flag, specOf(spec), act !== undefined));
  for (const { name, summary: of, group, load } of descriptor.commands ?? []) {
    const child = new CliCommand(name).summary(of).copyInheritedSettings(command);
    child.helpGroup(group);
    command.addCommand(child);
    if (isNeeded(name)) await complete(child, await load(), act, isNeeded);
  }
  if (descriptor.commands !== undefined || act === undefined) return command;
  return command.action(async (...parameters: unknown[]) => {
    const names = Object.keys(terms).map((name, index) => [name, parameters[index]] as const);
    const given = { ...command.opts(), ...Object.fromEntries(names) };
    checkTogether(command, given);
    await act(command, given);
  });
}

function argumentOf({ term, help, ...spec }: ArgumentSpec, isChecked: boolean): CliArgument {
  const argument = new CliArgument(term, help);
  argument.values = spec.values;
  if (spec.choices !== undefined) argument.choices(spec.choices);
  else if (isChecked) argument.argParser(reader(`<${argument.name()}>`, argument.variadic, spec));
  return argument;
}

function optionOf(
  flag: string,
  { help, conflicts = [], ...spec }: OptionSpec,
  isChecked: boolean,
): CliOption {
  const option = new CliOption(flag, help);
  option.conflicts([...conflicts]);
  if (spec.group !== undefined) option.helpGroup(spec.group);
  option.values = spec.values;
  option.requires = spec.requires ?? [];
  option.isMany = option.variadic;
  option.variadic = false;
  if (spec.choices !== undefined) option.argChoices = [...spec.choices];
  if (isChecked && option.required)
    option.argParser(reader(option.long ?? flag, option.isMany, spec));
  return option;
}

/** Reads values by a spec. @throws `invalid-input` that names the flag and the rule, and not the value: it may be a secret */
function reader(name: string, isMany: boolean, { choices, parse = text }: Partial<OptionSpec>) {
  const read =
    choices === undefined
      ? parse
      : valueOf(`must be ${oneOf(choices)}`, (value) => choices.includes(value));
  return (value: string, before: unknown): unknown => {
    try {
      const one = read(value, name);
      return isMany ? [before ?? [], one].flat() : one;
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      throw new VaultError("invalid-input", `${name}: ${error.message}`, {
        hint: "nothing was sent; --help shows examples",
      });
    }
  };
}

/**
 * What commander does not check: an option without one that it is about, or beside an argument, or with the next flag for its value.
 * @throws `usage`
 */
function checkTogether(command: CliCommand, given: Readonly<Record<string, unknown>>): void {
  const { arguments: terms = {} } = command.descriptor;
  const isGiven = (name: string): boolean =>
    ![undefined, false].includes(given[name] as undefined) &&
    given[name] !== "" &&
    [given[name]].flat().length > 0;
  const named = (name: string): string => {
    const { values, term } = terms[name] ?? {};
    const option = command.options.find((each) => each.attributeName() === name);
    return values?.from === "vaults" ? "a vault" : (term ?? option?.long ?? name);
  };
  const flags = command.allOptions.flatMap(({ short = "-h", long }) => [short, long]);
  const all: Readonly<Record<string, unknown>> = command.optsWithGlobals();
  const isFlag = (value: unknown): boolean => ["--", "--help", ...flags].includes(value as string);
  for (const option of command.allOptions)
    if ([all[option.attributeName()]].flat().some(isFlag))
      command.error(`${option.long} argument missing`);
  for (const option of command.options as CliOption[]) {
    const name = option.attributeName();
    if (!isGiven(name)) continue;
    const { requires, conflictsWith: conflicts } = option;
    const missing = requires.filter((each) => !isGiven(each));
    if (missing.length > 0)
      command.error(`${named(name)} requires ${missing.map(named).join(" and ")}`);
    const other = conflicts.find((each) => each in terms && isGiven(each));
    if (other !== undefined) command.error(`${named(name)} cannot be used with ${named(other)}`);
  }
}

/** The names of the commands that lead to this one, the program's first. */
export const pathOf = (command: CommanderCommand): string[] =>
  command.parent === null ? [command.name()] : [...pathOf(command.parent), command.name()];

const usageError = (command: CliCommand, code: string, message: string): VaultError =>
  new VaultError("usage", messageOf(code, message, command), { next: waysOf(command) });

/** commander's message, without values, which may be secrets, and options by their names alone. */
function messageOf(code: string, message: string, command: CliCommand): string {
  if (code === "commander.help") return "a command is missing";
  if (code === "commander.excessArguments")
    return `too many arguments for ${pathOf(command).join(" ")}`;
  const [, flag = ""] = /unknown option '(--[^=']+)=/.exec(message) ?? [];
  if (command.allOptions.some(({ long }) => long === flag)) return `${flag} takes no value`;
  return message
    .replace(/^error: /, "")
    .replace(/(unknown option '[^=]*)=.*'(?=\n|$)/s, "$1'")
    .replace(/\n(?=\(Did you mean .*$)/, " ")
    .replace(/^command-argument value '.*'(?= is invalid)/s, "the value")
    .replaceAll(/(?<!unknown )option '(?:-\w, )?(--[\w-]+)[^']*'/g, "$1");
}

/** Whether it runs a program. */
const takesProgram = ({ registeredArguments: terms }: CliCommand): boolean =>
  (terms as CliArgument[]).some(({ values }) => values?.from === "programs");

/** @throws `usage` if a program to run does not begin behind `--`, or an argument in front of that is missing */
export function checkProgram(command: CliCommand, argv: readonly string[]): void {
  const { args, registeredArguments: terms } = command;
  const end = argv.indexOf("--");
  const ours = args.length - (argv.length - end - 1);
  if (!takesProgram(command) || (end >= 0 && ours === terms.length - 1)) return;
  if (end >= 0 && ours < terms.length - 1)
    command.error(`missing required argument '${terms[ours]?.name()}'`);
  command.error("the program to run comes after --, with its own options");
}

/** The help of a command, behind `vault run VAULT -- CMD` of one that runs a program. */
function waysOf(command: CliCommand): Way[] {
  const help = wayTo`${pathOf(command)} --help`;
  if (!takesProgram(command)) return [help];
  const terms = command.registeredArguments.slice(0, -1).map((each) => each.name().toUpperCase());
  return [{ ...wayTo`${pathOf(command)} ${terms} -- CMD`, fill: [...terms, "CMD"] }, help];
}

/** The first screen lists no options; that of a command ends with the flags of every command that matter most. */
class CliHelp extends Help {
  override showGlobalOptions = true;

  override subcommandTerm(command: CommanderCommand): string {
    return command.name();
  }

  override commandUsage(command: CommanderCommand): string {
    return command.parent === null ? "vault <command> [options]" : super.commandUsage(command);
  }

  override formatHelp(command: CliCommand, helper: Help): string {
    if (command.parent === null) helper.visibleOptions = () => [];
    return `${super.formatHelp(command, helper)}${examplesOf(command)}\n`;
  }

  override visibleGlobalOptions(command: CommanderCommand): Option[] {
    const isGroup = command.commands.length > 0;
    if (isGroup || ["completion", "help"].includes(command.name())) return [];
    return super.visibleGlobalOptions(command).filter(({ long = "" }) => shown.includes(long));
  }
}
const shown = ["--json", "--field", "--reveal", "--profile", "--state", "--max-wait", "--no-input"];

/** What help ends with: examples, where their files come from, and where there is more to read. */
function examplesOf({ parent, descriptor: { examples } }: CliCommand): string {
  const lines = [
    "\nExamples:",
    ...[...examples, ...originsIn(examples)].map((line) => `  ${line}`),
  ];
  const more =
    parent === null
      ? `With every command: --json, --field PATH, --reveal, --quiet, --verbose.
vault COMMAND --help shows its options and examples. vault help TOPIC:
  ${fold(Object.keys(topics).join(", ").split(" "), 76).join("\n  ")}`
      : "All flags, variables and configuration keys: vault help settings.";
  return `${lines.join("\n")}\n\n${more}`;
}

/** Where the variables and files come from that examples name, by the word that names them. */
const origins: Readonly<Record<string, string>> = {
  $VAULT: "the UUID or label of a vault; vault sandbox exec sets it",
  "@pair.json": "credentials, as vault export $VAULT > pair.json writes them",
  "vaults.ndjson": "from another machine: vault export --all > vaults.ndjson",
  "@card.json": 'a card: {"number", "name", "expiryMonth", "expiryYear"}',
  "cards.ndjson": 'a line for each vault: {"uuid", "card": {"number", …}}',
  "@number": "a file with the card number alone",
  "@note.txt": "any text of yours",
  "audit.ndjson": "exported from the console, or by vault sandbox audit --export",
  "audit.csv.gz": "exported from the console, or by vault sandbox audit --export",
  "./integration-test.sh": "any program of yours that uses vaults",
  "./read.sh": "any program of yours that reads a vault",
  '"$PWD/check"': "exits with 0 if read.sh can still read its vault",
  "./sandbox.json": "of a sandbox that runs: vault sandbox start --ready-file FILE",
  '"$PWD/setup"': "prepares the new working directory of each run",
};

/** Comments for below the examples: each file and variable that one of them reads, and where it comes from. */
const originsIn = (examples: readonly string[]): string[] =>
  Object.entries(origins)
    .filter(([name]) => examples.some((example) => example.split(" ").includes(name)))
    .map(([name, origin]) => `# ${name.replaceAll(/^(?:@|\.\/|"\$PWD\/)|"$/g, "")}: ${origin}`);
