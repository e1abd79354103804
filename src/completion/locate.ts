import type { CommandNode, OptionNode } from "./tree.ts";

/** Position on a command line: the command, flags and arguments that its words name. */
export interface Place {
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
export function locate(root: CommandNode, words: readonly string[]): Place {
  const given = new Map<string, string>();
  const place: Place = { path: [root], unknown: undefined, positional: [], given, pending: undefined, ended: false };
  for (const word of words) {
    if (place.pending !== undefined) {
      given.set(place.pending.long, word);
      place.pending = undefined;
    } else if (place.ended || word === "-" || !word.startsWith("-")) {
      readWord(place, word);
    } else if (word === "--") {
      place.ended = true;
    } else if (word.startsWith("--")) {
      const [name = "", ...rest] = word.split("=");
      const option = optionsAt(place).find(({ long }) => long === name);
      place.pending = rest.length === 0 && option?.value?.required === true ? option : undefined;
      given.set(name, rest.join("="));
    } else {
      readShort(place, given, word.slice(1));
    }
  }
  return place;
}

/** Returns the flags that may come next, those of the last command first. */
export const optionsAt = ({ path }: Pick<Place, "path">): OptionNode[] => path.toReversed().flatMap(({ options }) => options);

export const commandAt = ({ path }: Pick<Place, "path">): CommandNode => path.at(-1) ?? path[0];

function readWord(place: Place, word: string): void {
  const { commands } = commandAt(place);
  const next = place.positional.length === 0 && !place.ended ? commands.find(({ name }) => name === word) : undefined;
  if (next !== undefined) {
    place.path.push(next);
    return;
  }
  if (commands.length > 0) place.unknown ??= word;
  place.positional.push(word);
}

/** Reads short flags: `-q`, `-qv`, `-o json`, `-ojson`. */
function readShort(place: Place, given: Map<string, string>, letters: string): void {
  for (const [index, letter] of letters.split("").entries()) {
    const option = optionsAt(place).find(({ short }) => short === `-${letter}`);
    if (option === undefined) return;
    const rest = letters.slice(index + 1);
    given.set(option.long, option.value === null ? "" : rest);
    if (option.value === null) continue;
    if (rest === "" && option.value.required) place.pending = option;
    return;
  }
}
