import type { Block, Span } from "../../cli/markdown.ts";
import { codeLines, parseMarkdown, plainText } from "../../cli/markdown.ts";
import type { Topic } from "../../cli/topics.ts";
import { readTopic } from "../../cli/topics/read.ts";
import { columnWidths, drawRows, gap, rowsTable, shrink } from "../../terminal/tables.ts";

/** A table whose columns would have to be narrower than this, or than one of their words, is shown as a list. */
const narrowestColumn = 20;
const margin = 2;

/** The text of a topic for a terminal of `width` columns. Code keeps its lines, however long. */
export const topicScreen = (topic: Topic, width: number): string =>
  `${parseMarkdown(readTopic(topic))
    .map((block) => shown(block, width))
    .join("\n\n")}\n`;

function shown(block: Block, width: number): string {
  switch (block.type) {
    case "heading": {
      const title = plainText(block.spans);
      return `${title}\n${"─".repeat(title.length)}`;
    }
    case "paragraph":
      return paragraph(plainText(block.spans), width, 0);
    case "list":
      return block.items
        .map((item) => paragraph(plainText(item), width, 4).replace(/^ {4}/, "  - "))
        .join("\n");
    case "code":
      return codeLines(block)
        .map((line) => `    ${line}`.trimEnd())
        .join("\n");
    case "table":
      return table(block.heading, block.rows, width);
  }
}

const paragraph = (text: string, width: number, margin: number): string =>
  rowsTable([[text]], width, margin).trimEnd();

/** Columns side by side, the widest ones wrapped; where they become too narrow, each row as its terms with the last cell below. */
function table(heading: readonly Span[][], rows: readonly Span[][][], width: number): string {
  const texts = [heading, ...rows].map((row) => row.map(plainText));
  const natural = columnWidths(texts);
  const widths = shrink(natural, width - margin - gap * (natural.length - 1), 1);
  const words = columnWidths(texts.map((row) => row.map((cell) => cell.replaceAll(" ", "\n"))));
  const fits = widths.every(
    (columns, index) =>
      columns === natural[index] || columns >= Math.max(narrowestColumn, words[index] ?? 0),
  );
  const [head = [], ...body] = texts;
  if (!fits) return texts.map((row) => stacked(row, width)).join("\n");
  const rule = widths.map((columns) => "─".repeat(columns));
  const there = [head, rule, ...body].filter((row) => row.some((cell) => cell !== ""));
  return drawRows(there, widths, margin).trimEnd();
}

function stacked(row: readonly string[], width: number): string {
  const terms = row.slice(0, -1).filter((cell) => cell !== "");
  return [
    paragraph(terms.join(", "), width, margin),
    paragraph(row.at(-1) ?? "", width, margin + 4),
  ].join("\n");
}
