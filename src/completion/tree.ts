/**
 * The hidden command that completion scripts call with the words of a command line, up to the cursor. It prints a line for each
 * candidate, with a tab and a description, and a last line that begins with a colon: `:done`, `:nospace`, `:files PREFIX` or
 * `:directories PREFIX`. Output without that line is incomplete.
 */
export const completeCommand = "__complete";

/** A command as data: what `vault help --json` prints, completion offers and the README's reference lists. */
export interface CommandNode {
  name: string;
  summary: string;
  description: string;
  arguments: ArgumentNode[];
  options: OptionNode[];
  commands: CommandNode[];
  examples: readonly string[];
}

export interface ArgumentNode {
  name: string;
  required: boolean;
  variadic: boolean;
  description: string;
  values: ValueSource;
}

export interface OptionNode {
  /** As declared: `-o, --output <format>`. */
  flags: string;
  short?: string;
  long: string;
  description: string;
  /** Null for a flag without a value. */
  value: { name: string; required: boolean; variadic: boolean; values: ValueSource } | null;
}

/** A possible word of a command line, and its meaning. */
export interface Candidate {
  value: string;
  description?: string;
}

/** Source of the values of a flag or an argument. */
export type ValueSource =
  /** `separated`: a comma-separated list. `open`: more must be typed after each value. */
  | { from: "list"; values: readonly string[]; separated?: boolean; open?: boolean }
  /** Fields of what is read of the vault that the line names; `after`: behind this, in a word that begins with something else. */
  | { from: "fields"; after?: string }
  /** Commands, nested ones after their parents; `also` has other words for the first position. */
  | { from: "commands"; also: readonly Candidate[] }
  /** UUIDs and, with `byLabel`, labels. */
  | { from: "vaults"; byLabel?: true }
  /** `given`: the source of a secret or a document: @FILE, -, env:NAME. */
  | { from: "profiles" | "programs" | "files" | "directories" | "given" | "anything" };

/** Position on a command line: the command, flags and arguments that its words name. */
export interface Position {
  /** The program and the commands named so far; the next word belongs to the last one. */
  path: [CommandNode, ...CommandNode[]];
  /** The word given where a nested command is expected, if there is no such command. */
  unknown: string | undefined;
  /** Arguments of the last command. */
  positional: string[];
  /** Values of the flags given, by long form; empty for a flag without a value. */
  given: ReadonlyMap<string, string>;
  /** The flag whose value comes next. */
  pending: OptionNode | undefined;
  /** Whether `--` has ended the flags. */
  ended: boolean;
}

/** Reads words as commander does: flags of a command and its parents, with their values, in any order. */
export function locate(root: CommandNode, words: readonly string[]): Position {
  const given = new Map<string, string>();
  const position: Position = {
    path: [root],
    unknown: undefined,
    positional: [],
    given,
    pending: undefined,
    ended: false,
  };
  for (const word of words) {
    if (position.pending !== undefined) {
      given.set(position.pending.long, word);
      position.pending = undefined;
    } else if (position.ended || word === "-" || !word.startsWith("-")) {
      readWord(position, word);
    } else if (word === "--") {
      position.ended = true;
    } else if (word.startsWith("--")) {
      const [name = "", ...rest] = word.split("=");
      const option = optionsAt(position).find(({ long }) => long === name);
      position.pending = rest.length === 0 && option?.value?.required === true ? option : undefined;
      given.set(name, rest.join("="));
    } else {
      readShort(position, given, word.slice(1));
    }
  }
  return position;
}

/** Returns the flags that may come next, those of the last command first. */
export const optionsAt = ({ path }: Pick<Position, "path">): OptionNode[] =>
  path.toReversed().flatMap(({ options }) => options);

export const commandAt = ({ path }: Pick<Position, "path">): CommandNode => path.at(-1) ?? path[0];

function readWord(position: Position, word: string): void {
  const { commands } = commandAt(position);
  const next =
    position.positional.length === 0 && !position.ended
      ? commands.find(({ name }) => name === word)
      : undefined;
  if (next !== undefined) {
    position.path.push(next);
    return;
  }
  if (commands.length > 0) position.unknown ??= word;
  position.positional.push(word);
}

/** Reads short flags: `-q`, `-qv`, `-o json`, `-ojson`. */
function readShort(position: Position, given: Map<string, string>, letters: string): void {
  for (const [index, letter] of letters.split("").entries()) {
    const option = optionsAt(position).find(({ short }) => short === `-${letter}`);
    if (option === undefined) return;
    const rest = letters.slice(index + 1);
    given.set(option.long, option.value === null ? "" : rest);
    if (option.value === null) continue;
    if (rest === "" && option.value.required) position.pending = option;
    return;
  }
}
