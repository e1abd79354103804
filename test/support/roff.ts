import type { Block, Span } from "../../src/cli/markdown.ts";

/** Lines of a man page's source for a Block: the macros of man(7), and tbl(1) for a table of three columns. */
export function roffOf(block: Block): string[] {
  if (block.type === "heading") return section(block.spans.map(({ text }) => text).join(""));
  if (block.type === "paragraph") return [".PP", ...filled(block.spans)];
  if (block.type === "list")
    return block.items.flatMap((item) => ['.IP "\\(bu" 3', ...filled(item)]);
  if (block.type === "code") return code(block.lines);
  if (block.heading.length === 3) return table(block.heading, block.rows);
  return block.rows.flatMap((row) => {
    const terms = row.slice(0, -1).filter((cell) => cell.length > 0);
    const separated = terms.flatMap((cell, index): Span[] =>
      index === 0 ? cell : [plain(", "), ...cell],
    );
    return tagged(separated, row.at(-1) ?? []);
  });
}

export const plain = (text: string): Span => ({ text, style: "plain" });
export const bold = (text: string): Span => ({ text, style: "code" });

export const section = (title: string): string[] => [`.SH ${escape(title.toUpperCase())}`];

/** A term with its text below. */
export const tagged = (term: readonly Span[], text: readonly Span[]): string[] => [
  ".TP",
  inline(term),
  ...filled(text),
];

export const code = (lines: readonly string[]): string[] => [
  ".PP",
  ".RS 4",
  ".EX",
  ...lines.map((line) => (line === "" ? "\\&" : guarded(escape(line).replaceAll("-", "\\-")))),
  ".EE",
  ".RE",
];

/** Text in lines as short as mandoc wants them. */
export function filled(spans: readonly Span[]): string[] {
  const lines = inline(spans)
    .replaceAll(/(.{1,75})(?: +|$)/g, "$1\n")
    .trimEnd()
    .split("\n");
  return lines.map(guarded);
}

function table(heading: readonly Span[][], rows: readonly Span[][][]): string[] {
  const cell = (spans: readonly Span[]): string[] =>
    spans.length === 0 ? ["\\&"] : ["T{", ...filled(spans), "T}"];
  const line = (row: readonly Span[][]): string[] =>
    row.reduce<string[]>((lines, each, index) => {
      const [first = "", ...rest] = cell(each);
      return index === 0
        ? [first, ...rest]
        : [...lines.slice(0, -1), `${lines.at(-1)}\t${first}`, ...rest];
    }, []);
  const head = heading.map((spans) => spans.map(({ text }) => bold(text)));
  return [".TS", "l lx lx.", ...line(head), ...rows.flatMap(line), ".TE"];
}

/** One line, with bold for what is typed. Hyphens there are those that can be pasted. */
function inline(spans: readonly Span[]): string {
  const parts = spans.map(({ text, style }) =>
    style === "plain" ? escape(text) : `\\fB${escape(text).replaceAll("-", "\\-")}\\fR`,
  );
  return parts.join("");
}

const escape = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll(
      /[^\n -~]/gu,
      (character) =>
        `\\[u${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}]`,
    );

/** A line that begins with a dot or an apostrophe would be a request. */
const guarded = (line: string): string => (/^[.']/.test(line) ? `\\&${line}` : line);
