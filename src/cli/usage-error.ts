import type { CommanderError } from "commander";
import { commandAt, locate, optionsAt } from "../completion/tree.ts";
import { suggest } from "../suggest.ts";
import type { CommandNode } from "../completion/tree.ts";
import { VaultError } from "../errors.ts";
import { command } from "../way.ts";

/** What other tools call a command, with ours. */
const ofOtherTools: Readonly<Record<string, readonly string[]>> = {
  backup: ["state backup", "state restore"],
  list: ["status"],
  ls: ["status"],
  read: ["get"],
  show: ["get", "status"],
  login: ["init"],
  rotate: ["get"],
  unlock: ["guard --reset"],
  rm: ["forget", "delete"],
  logs: ["audit-replay"],
  rekey: ["state rekey"],
  restore: ["state restore"],
  version: ["--version"],
};

/**
 * commander's error as ours, with what was probably meant. `root` is the whole tree: what was parsed holds only the commands
 * that the line names.
 */
export function usageError(
  error: CommanderError,
  root: CommandNode,
  argv: readonly string[],
): VaultError {
  const place = locate(root, argv);
  const names = place.path.map(({ name }) => name);
  const called = names.join(" ");
  const help = command`${names} --help`;
  if (error.code === "commander.help" || error.code === "commander.helpDisplayed") {
    return new VaultError("usage", "a command is missing", { next: [help] });
  }
  const [, word = ""] = /'([^'=]+)/.exec(error.message) ?? [];
  const words = `${called} ${word}`.slice(root.name.length + 1);
  const elsewhere = Object.hasOwn(ofOtherTools, words)
    ? ofOtherTools[words]?.map((name) => command`${root.name} ${name.split(" ")}`)
    : undefined;
  const meant =
    error.code === "commander.unknownCommand"
      ? (elsewhere ??
        suggest(word, namesOf(commandAt(place))).map((name) => command`${names} ${name}`))
      : [];
  const near =
    error.code === "commander.unknownOption" && word.startsWith("--")
      ? suggest(word, [...optionsAt(place).map(({ long }) => long), "--help"])
      : [];
  return new VaultError("usage", messageOf(error, called), {
    hint: near.length > 0 ? `did you mean ${near.join(" or ")}?` : undefined,
    next: [...meant, help],
  });
}

/** commander's message in the words of this program. Those about unknown commands and options say enough. */
function messageOf({ code, message }: CommanderError, called: string): string {
  const [, subject = ""] = /'([^']+)'/.exec(message) ?? [];
  switch (code) {
    case "commander.missingArgument":
      return `<${subject}> is missing`;
    case "commander.optionMissingArgument":
      return `${subject}: a value is missing`;
    case "commander.excessArguments":
      return `too many arguments for ${called}`;
    case "commander.invalidArgument": {
      const [, name = "", choices = ""] =
        /argument '(\w+)'\. Allowed choices are (.*)\.$/.exec(message) ?? [];
      return `<${name}>: must be one of ${choices}`;
    }
    default:
      // The value of an option that was mistyped may be a secret.
      return message
        .replace(/^error: /, "")
        .replace(/('-[^=]*=).*'/s, "$1…'")
        .replaceAll("\n", " ");
  }
}

const namesOf = ({ commands }: CommandNode): string[] => commands.map(({ name }) => name);
