import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

const root = join(import.meta.dirname, "..", "..");

const textsIn = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((file) => file.endsWith(".md"))
      .map((file) => [basename(file, ".md"), readFileSync(join(folder, file), "utf8")]),
  );

export const readme = readFileSync(join(root, "README.md"), "utf8");

/** The text of each topic of `vault help`, by its name. */
export const topicTexts = textsIn(join(root, "src", "cli", "topics"));

/** The Markdown of each document in `docs`, by its name. */
export const docTexts = textsIn(join(root, "docs"));

/** @throws for a topic that does not exist */
export function topicText(name: string): string {
  const text = topicTexts[name];
  if (text === undefined) throw new Error(`there is no topic "${name}"`);
  return text;
}

/** A block of code, with the heading that it stands under. */
export interface CodeBlock {
  /** `sh` is run, `text` is what that prints, `json` is JSON, the rest is only shown. */
  info: string;
  code: string;
  heading: string;
}

/** The text under a heading of any level, up to the next heading of the same or a higher one. */
export function section(markdown: string, title: string): string {
  const lines = markdown.split("\n");
  const headings = headingsOf(lines);
  const start = headings.findIndex((heading) => heading.title === title);
  const { line, level } = headings[start] ?? { line: -1, level: 0 };
  if (line === -1) throw new Error(`there is no heading "${title}"`);
  const end = headings.slice(start + 1).find((heading) => heading.level <= level)?.line;
  return lines.slice(line + 1, end).join("\n");
}

export const headings = (markdown: string): string[] =>
  headingsOf(markdown.split("\n")).map(({ title }) => title);

/** The fenced blocks of a document. */
export function codeBlocks(markdown: string): CodeBlock[] {
  const lines = markdown.split("\n");
  const headings = headingsOf(lines);
  const blocks: CodeBlock[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const [, info] = /^```(\S.*)$/.exec(lines[at] ?? "") ?? [];
    if (info === undefined) continue;
    const end = lines.indexOf("```", at);
    const heading = headings.findLast(({ line }) => line < at)?.title ?? "";
    blocks.push({ info, code: lines.slice(at + 1, end).join("\n"), heading });
    at = end;
  }
  return blocks;
}

/**
 * The indented blocks of a topic: by four spaces, commands, or behind a bar what they print; by six, what is only shown. A test runs
 * the commands and holds what they print against the output below them.
 */
export function topicBlocks(topic: string): CodeBlock[] {
  const headings = [...topic.matchAll(/^#+ (.+)$/gm)];
  return [...topic.matchAll(/(?:^ {4}.*\n)+/gm)].map(({ 0: block, index }) => {
    const heading = headings.findLast((each) => each.index < index)?.[1] ?? "";
    if (block.startsWith("      ")) {
      const code = block.trimEnd().replaceAll(/^ {6}/gm, "");
      return { info: code.startsWith("{") ? "json" : "", code, heading };
    }
    const isOutput = block.startsWith("    │");
    const code = block.trimEnd().replaceAll(isOutput ? /^ {4}│ ?/gm : /^ {4}/gm, "");
    return { info: isOutput ? "text" : "sh", code, heading };
  });
}

/** The rows of the first table in a text, without its heading and rule; cells trimmed. */
export function tableRows(markdown: string): string[][] {
  const lines = markdown.split("\n");
  const start = lines.findIndex((line) => /^\|[\s|:-]+\|$/.test(line));
  const rows = lines.slice(start + 1);
  const end = rows.findIndex((line) => !line.startsWith("|"));
  return (end === -1 ? rows : rows.slice(0, end)).map((row) =>
    row
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim()),
  );
}

function headingsOf(lines: readonly string[]): { line: number; level: number; title: string }[] {
  let inBlock = false;
  return lines.flatMap((text, line) => {
    if (text.startsWith("```")) inBlock = !inBlock;
    const [, marks = "", title = ""] = /^(#+) (.+)$/.exec(text) ?? [];
    return inBlock || marks === "" ? [] : [{ line, level: marks.length, title }];
  });
}
