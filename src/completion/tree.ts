import type { Command } from "commander";
import type { ValueSource } from "./values.ts";
import { placeholder, valuesOf } from "./values.ts";

/** A command as data: what `vault help --json` prints, completion offers and the README's reference lists. */
export interface CommandNode {
  name: string;
  summary: string;
  description: string;
  arguments: ArgumentNode[];
  options: OptionNode[];
  commands: CommandNode[];
  /** Only where they were asked for. */
  examples?: string[];
}

interface ArgumentNode {
  name: string;
  required: boolean;
  variadic: boolean;
  description: string;
  values: ValueSource;
}

export interface OptionNode {
  /** As it is declared: `-o, --output <format>`. */
  flags: string;
  short?: string;
  long: string;
  description: string;
  /** Null for a flag that is on or off. */
  value: { name: string; required: boolean; variadic: boolean; values: ValueSource } | null;
}

/** Reads commander's tree; commands and flags that are hidden there are left out. */
export function describeCommand(command: Command, { examples = false } = {}): CommandNode {
  const helper = command.createHelp();
  const visible = helper.visibleCommands(command);
  return {
    name: command.name(),
    summary: command.summary(),
    description: command.description(),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      required: argument.required,
      variadic: argument.variadic,
      description: argument.description,
      values: valuesOf(argument, command.name()),
    })),
    options: helper.visibleOptions(command).map((option) => ({
      flags: option.flags,
      ...(option.short === undefined ? {} : { short: option.short }),
      long: option.long ?? option.short ?? "",
      description: option.description,
      value:
        option.required || option.optional
          ? {
              name: placeholder(option.flags),
              required: option.required,
              variadic: option.variadic,
              values: valuesOf(option, command.name()),
            }
          : null,
    })),
    commands: command.commands.filter((each) => visible.includes(each)).map((each) => describeCommand(each, { examples })),
    ...(examples ? { examples: examplesOf(command) } : {}),
  };
}

/** How a command is called: `vault get [options] <uuid>`; `parents` are the names above it. */
export function usageOf(node: CommandNode, parents: readonly string[]): string {
  const options = node.options.length > 0 ? ["[options]"] : [];
  const nested = node.commands.length > 0 ? ["<command>"] : [];
  return [...parents, node.name, ...options, ...nested, ...node.arguments.map(argumentTerm)].join(" ");
}

function argumentTerm({ name, required, variadic }: Pick<ArgumentNode, "name" | "required" | "variadic">): string {
  const shown = variadic ? `${name}...` : name;
  return required ? `<${shown}>` : `[${shown}]`;
}

function examplesOf(command: Command): string[] {
  const [, block = ""] = /^Examples:\n((?: {2}.*\n?)*)/m.exec(printedHelp(command)) ?? [];
  return block
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.trim());
}

/** What --help prints, with the examples, which commander keeps only as a listener. */
export function printedHelp(command: Command): string {
  let text = "";
  const output = command.configureOutput();
  command.configureOutput({ writeOut: (more) => (text += more) });
  command.outputHelp();
  command.configureOutput(output);
  return text;
}
