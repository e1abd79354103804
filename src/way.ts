/** A command that leads on: a list of words, so that nothing within a word can become another command. */
export interface Way {
  argv: string[];
  /** Condition or effect that a person needs to know. */
  note?: string | undefined;
  /** Words that a person replaces, such as `@FILE`. */
  fill?: string[] | undefined;
}

/**
 * Makes a way of a command line: the literal text is split at spaces, a value is one word or a part of one, and a list is
 * several words. Literal words in capitals (`@FILE`, `KIND`) are what a person replaces.
 */
export function command(
  literals: TemplateStringsArray,
  ...values: readonly (string | number | readonly string[])[]
): Way {
  // A value is put in when the words are there, so that it is not split.
  const line = literals.reduce((text, literal, at) => `${text}⟨${at - 1}⟩${literal}`);
  const words = line.trim().split(/\s+/);
  const argv = words.flatMap((word) => {
    const [, alone] = /^⟨(\d+)⟩$/.exec(word) ?? [];
    const value = values[Number(alone)];
    if (Array.isArray(value)) return value as readonly string[];
    return word.replaceAll(/⟨(\d+)⟩/g, (_, at) => String(values[Number(at)]));
  });
  const fill = [...new Set(words.filter((word) => /^@?[A-Z][A-Z…]*$/.test(word)))];
  return { argv, ...(fill.length === 0 ? {} : { fill }) };
}

/** The way with a condition or effect that a person needs to know. */
export const noted = (way: Way, note: string): Way => ({ ...way, note });

/** The way with words added: before `--`, behind which they would be another program's. */
export function withWords(way: Way, ...words: readonly string[]): Way {
  const end = way.argv.indexOf("--");
  return { ...way, argv: way.argv.toSpliced(end === -1 ? way.argv.length : end, 0, ...words) };
}

/** The way with flags that take no value, each of them once. */
export function withFlags(way: Way, ...flags: readonly string[]): Way {
  const end = way.argv.indexOf("--");
  const own = end === -1 ? way.argv : way.argv.slice(0, end);
  return withWords(way, ...flags.filter((flag) => !own.includes(flag)));
}

/** A word in single quotes, for a shell. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The same, without quotes if it needs none. Control characters are escapes, as bash, zsh and ksh read them. */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (!/\p{Cc}/u.test(text)) return shellQuoted(text);
  const escaped = text
    .replaceAll(/[\\']/g, String.raw`\$&`)
    .replaceAll(
      /\p{Cc}/gu,
      (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  return `$'${escaped}'`;
}

/** The words as a line for a shell. */
export const commandLine = (words: readonly string[]): string => words.map(shellWord).join(" ");

/** A way in one line: `vault ack UUID (note)`. */
export const wayText = ({ argv, note }: Way): string =>
  commandLine(argv) + (note === undefined ? "" : ` (${note})`);

/**
 * Formats ways for a person, one after the other: `next: vault ack UUID (note)`. What does not fit into the columns goes on in the next line:
 * a command behind a backslash, so that it is one when it is pasted, and its note.
 */
export function wayLines(ways: readonly Way[], columns = Infinity, margin = 2): string[] {
  const label = `${" ".repeat(margin)}next: `;
  const width = columns - label.length;
  return ways.flatMap(({ argv, note }) => {
    const lines = fold(argv.map(shellWord), width - 2).map((line, index, { length }) =>
      index === length - 1 ? line : `${line} \\`,
    );
    const last = lines.at(-1) ?? "";
    const told = note === undefined ? [] : fold(`(${note})`.split(" "), width);
    const isBeside = told.length === 1 && `${last} ${told.join("")}`.length <= width;
    return (
      isBeside ? [...lines.slice(0, -1), `${last} ${told.join("")}`] : [...lines, ...told]
    ).map((line, index) => `${index === 0 ? label : " ".repeat(label.length)}${line}`);
  });
}

/** A text with which a line on a terminal begins, marked if it could be taken for a way on: others may have written it. */
export const unlikeWay = (text: string): string => text.replace(/^\s*(?=next:)/i, "… ");

/** Words on lines of this width, of which all but the first are indented; a longer word has one of its own. */
export const fold = (words: readonly string[], width: number, indent = ""): string[] =>
  words.reduce<string[]>((lines, word) => {
    const last = lines.pop();
    const longer = `${last} ${word}`;
    if (last === undefined) return [word];
    if (columnsOf(longer) <= width) lines.push(longer);
    else lines.push(last, indent + unlikeWay(word));
    return lines;
  }, []);

/** Columns that a text takes at most; string-width, which knows, takes long to load. */
const columnsOf = (text: string): number =>
  text.length + (text.match(/[\u1100-\u115F\u231A-\u2BFF\u2E80-\uFFFF]/g)?.length ?? 0);
