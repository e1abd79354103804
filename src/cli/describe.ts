import { defined } from "../defined.ts";
import type { ArgumentNode, CommandNode, OptionNode, ValueSource } from "../completion/tree.ts";
import { kinds, operations } from "../protocol/endpoints.ts";
import { configKeys, outputFormats } from "../settings/definitions.ts";
import type { ArgumentSpec, Command, OptionSpec } from "./command.ts";
import { descriptionOf, helpOption } from "./command.ts";

/**
 * A command and those below it, as completion, suggestions, `vault help --json` and the reference read them. Arguments and options are
 * described when they are read: completion looks at those of one command.
 */
export function describeCommand(command: Command): CommandNode {
  const { name, summary, arguments: terms = {}, options = {}, commands = [], examples } = command;
  return {
    name,
    summary,
    description: descriptionOf(command),
    get arguments() {
      return Object.values(terms).map((spec) => describeArgument(spec, name));
    },
    get options() {
      return [...Object.values(options), helpOption].map(describeOption);
    },
    commands: commands.map(describeCommand),
    examples,
  };
}

function describeArgument(spec: ArgumentSpec, command: string): ArgumentNode {
  const { term, help, choices } = spec;
  const name = placeholder(term);
  const values =
    choices === undefined
      ? valuesOf(spec, [`${command} ${name}`, name], "anything")
      : { from: "list" as const, values: choices };
  return {
    name,
    required: term.startsWith("<"),
    variadic: term.includes("..."),
    description: help,
    values,
  };
}

function describeOption(spec: OptionSpec): OptionNode {
  const { flag, help } = spec;
  const [, short, long = ""] = /^(?:(-\w), )?(--[\w-]+)/.exec(flag) ?? [];
  const name = placeholder(flag);
  const values = valuesOf(spec, [long, name], help.includes("@FILE") ? "given" : "anything");
  return {
    flags: flag,
    ...defined({ short }),
    long,
    description: help,
    value:
      name === ""
        ? null
        : { name, required: flag.includes("<"), variadic: flag.includes("..."), values },
  };
}

/** By the flag, by the command and the argument, or by the word that stands for the value: `--kind <kind>`. */
const known: Readonly<Record<string, ValueSource>> = {
  "--profile": { from: "profiles" },
  "--field": { from: "fields" },
  "use name": { from: "profiles" },
  uuid: { from: "vaults" },
  kind: { from: "list", values: kinds },
  operation: { from: "list", values: operations },
  format: { from: "list", values: outputFormats },
  key: { from: "list", values: [...configKeys.keys()] },
  file: { from: "files" },
  files: { from: "files" },
  seed: { from: "files" },
  directory: { from: "directories" },
};

/** What the descriptor says, else what the names tell. */
const valuesOf = (
  { values }: Pick<OptionSpec, "values">,
  names: readonly string[],
  otherwise: "given" | "anything",
): ValueSource =>
  values ??
  names.map((name) => known[name]).find((each) => each !== undefined) ?? { from: otherwise };

/** `file` of `--export <file>` or `[file...]`; empty for a flag without a value. */
const placeholder = (term: string): string => /[<[]([^\]>.]+)/.exec(term)?.[1] ?? "";
