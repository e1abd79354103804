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

/** What begins a word in place of a hyphen, where an editor was at work. */
const dashes = /^-*[\u2010-\u2015\u2212]/;

/**
 * The error of a line whose dashes say something else than was meant: an option that begins with another dash, or stands after `--`; a
 * program that does not, so that its options would be taken for ours. Undefined for all others.
 */
export function dashError(root: CommandNode, argv: readonly string[]): VaultError | undefined {
  const place = locate(root, argv);
  const names = place.path.map(({ name }) => name);
  const end = argv.indexOf("--");
  const options = new Set(optionsAt(place).map(({ long }) => long));
  // Without the value, which may be a secret.
  const flagIn = (word: string): string => word.split("=", 1)[0] ?? "";
  const written = (word: string): string =>
    `--${flagIn(word).replace(/^[-\u2010-\u2015\u2212]+/, "")}`;
  const own = argv.slice(0, end === -1 ? undefined : end);
  const dashed = own.find((word) => dashes.test(word) && options.has(written(word)));
  if (dashed !== undefined)
    return new VaultError("usage", `${flagIn(dashed)} begins with a dash that is no hyphen`, {
      hint: `write ${written(dashed)}`,
    });
  const terms = commandAt(place).arguments.map(({ name, values }) => ({ name, ...values }));
  if (terms.at(-1)?.from === "programs") {
    if (end !== -1) return undefined;
    const fill = [...terms.slice(0, -1).map(({ name }) => name.toUpperCase()), "CMD"];
    const way = command`${names} ${fill.slice(0, -1)} -- CMD`;
    return new VaultError("usage", "the program to run comes after --, with its own options", {
      next: [{ ...way, fill }, command`${names} --help`],
    });
  }
  const late = end === -1 ? undefined : argv.slice(end).find((word) => options.has(flagIn(word)));
  if (late === undefined) return undefined;
  return new VaultError("usage", `${flagIn(late)} stands after --, where it is no option`, {
    hint: "write options before --",
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
    case "commander.conflictingOption":
      return [...message.matchAll(/'(?:-\w, )?(--[\w-]+)/g)]
        .map(([, flag]) => flag)
        .join(" cannot be used with ");
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
