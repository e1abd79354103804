import type { Block, Span } from "../../cli/markdown.ts";
import { parseMarkdown, plainText } from "../../cli/markdown.ts";
import type { Topic } from "../../cli/topics.ts";
import { readTopic } from "../../cli/topics/read.ts";
import { shrink, widthOf, wrap } from "../../terminal/width.ts";

/** A table whose columns would have to be narrower than this, or than one of their words, is shown as a list. */
const narrowestColumn = 20;
const gap = "  ";

/** The text of a topic for a terminal of `width` columns. Code keeps its lines, however long. */
export const topicScreen = (topic: Topic, width: number): string =>
  `${parseMarkdown(readTopic(topic))
    .map((block) => shown(block, width))
    .join("\n\n")}\n`;

function shown(block: Block, width: number): string {
  switch (block.type) {
    case "heading": {
      const title = plainText(block.spans);
      return `${title}\n${"─".repeat(widthOf(title))}`;
    }
    case "paragraph":
      return wrap(plainText(block.spans), width).join("\n");
    case "list":
      return block.items
        .map((item) => indented(wrap(plainText(item), width - 4), "  - ", "    "))
        .join("\n");
    case "code":
      return indented(block.lines, "    ", "    ");
    case "table":
      return table(block.heading, block.rows, width - gap.length);
  }
}

const indented = (lines: readonly string[], first: string, rest: string): string =>
  lines.map((line, index) => `${index === 0 ? first : rest}${line}`.trimEnd()).join("\n");

/** Columns side by side, the widest ones wrapped; where they become too narrow, each row as its terms with the last cell below. */
function table(heading: readonly Span[][], rows: readonly Span[][][], width: number): string {
  const texts = [heading, ...rows].map((row) => row.map(plainText));
  const natural = heading.map((_, column) =>
    Math.max(...texts.map((row) => widthOf(row[column] ?? ""))),
  );
  const widths = shrink(natural, width - gap.length * (natural.length - 1), 1);
  const words = heading.map((_, column) =>
    Math.max(...texts.flatMap((row) => (row[column] ?? "").split(" ").map(widthOf))),
  );
  const fits = widths.every(
    (columns, index) =>
      columns === natural[index] || columns >= Math.max(narrowestColumn, words[index] ?? 0),
  );
  const [head = [], ...body] = texts;
  if (!fits) return texts.map((row) => stacked(row, width)).join("\n");
  const rule = widths.map((columns) => "─".repeat(columns));
  return [head, rule, ...body]
    .filter((row) => row.some((cell) => cell !== ""))
    .map((row) => sideBySide(row, widths))
    .join("\n");
}

function sideBySide(row: readonly string[], widths: readonly number[]): string {
  const cells = widths.map((width, column) => wrap(row[column] ?? "", width));
  const height = Math.max(...cells.map((lines) => lines.length));
  const lines = Array.from({ length: height }, (_, index) =>
    cells.map((cell, column) => pad(cell[index] ?? "", widths[column] ?? 0)).join(gap),
  );
  return indented(lines, gap, gap);
}

const pad = (text: string, width: number): string =>
  text + " ".repeat(Math.max(0, width - widthOf(text)));

function stacked(row: readonly string[], width: number): string {
  const terms = row.slice(0, -1).filter((cell) => cell !== "");
  const text = wrap(row.at(-1) ?? "", width - 4);
  return [
    indented(wrap(terms.join(", "), width), gap, gap),
    indented(text, "      ", "      "),
  ].join("\n");
}
