import type { Command as CommanderCommand } from "commander";
import { VaultError } from "../errors.ts";
import type { Way } from "../way.ts";
import { command as wayTo } from "../way.ts";
import type { Descriptor } from "./command.ts";

/** The names of the commands that lead to this one, the program's first. */
export const pathOf = (command: CommanderCommand): string[] =>
  command.parent === null ? [command.name()] : [...pathOf(command.parent), command.name()];

/** commander's error about a command as ours. Its message ends with what was probably meant. */
export function usageError(
  command: CommanderCommand,
  descriptor: Descriptor,
  code: string,
  message: string,
): VaultError {
  const names = pathOf(command);
  const [, found = ""] = /\(Did you mean (?:one of )?(.*)\?\)$/.exec(message) ?? [];
  const near = found === "" ? [] : found.split(", ");
  const [, word = ""] = /'([^']*)'/.exec(message) ?? [];
  const isCommand = code === "commander.unknownCommand";
  return new VaultError("usage", messageOf(code, message, word, names.join(" ")), {
    hint: isCommand || near.length === 0 ? undefined : `did you mean ${near.join(" or ")}?`,
    next: [
      ...(isCommand ? near.map((name) => wayTo`${names} ${name}`) : []),
      ...(takesProgram(descriptor) ? [programWay(command)] : []),
      wayTo`${names} --help`,
    ],
  });
}

/** commander's message in the words of this program. The value of an option may be a secret. */
function messageOf(code: string, message: string, word: string, called: string): string {
  const flags = [...message.matchAll(/'(?:-\w, )?(--[\w-]+)/g)].map(([, flag]) => flag);
  switch (code) {
    case "commander.help":
      return "a command is missing";
    case "commander.missingArgument":
      return `<${word}> is missing`;
    case "commander.optionMissingArgument":
      return `${word}: a value is missing`;
    case "commander.excessArguments":
      return `too many arguments for ${called}`;
    case "commander.conflictingOption":
      return flags.join(" cannot be used with ");
    case "commander.invalidArgument":
      return message.replace(
        /^.* argument '(\w+)'\. Allowed choices are (.*)\.$/,
        "<$1>: must be one of $2",
      );
    case "commander.unknownOption":
      return `unknown option '${word.split("=", 1)[0]}'`;
    default:
      return `unknown command '${word}'`;
  }
}

/** Whether a program to run stands behind `--`. */
export const takesProgram = ({ arguments: terms = {} }: Descriptor): boolean =>
  Object.values(terms).some(({ values }) => values?.from === "programs");

/** The error of a line without `--`: options of the program to run would be taken for ours. */
export const noProgram = (command: CommanderCommand): VaultError =>
  new VaultError("usage", "the program to run comes after --, with its own options", {
    next: [programWay(command), wayTo`${pathOf(command)} --help`],
  });

/** `vault run VAULT -- CMD`. */
function programWay(command: CommanderCommand): Way {
  const terms = command.registeredArguments.map((argument) => argument.name().toUpperCase());
  const fill = [...terms.slice(0, -1), "CMD"];
  return { ...wayTo`${pathOf(command)} ${fill.slice(0, -1)} -- CMD`, fill };
}
