import { commandLine } from "../../way.ts";
import type { Report } from "./outline.ts";
import { outlineOf } from "./outline.ts";
import { longest, type Fact, type Section, type Table } from "./section.ts";
import { shown } from "./terminal.ts";

/** Maximum number of vaults that are described. */
const maxDescribed = 20;

/** Yields a report as Markdown, for a ticket: the answer, then the vaults that need action, then what the report is based on. */
export function* markdownReport(report: Report): Generator<string, void, undefined> {
  const outline = outlineOf(report, { problems: maxDescribed, others: 0, sections: maxDescribed });
  for (const answer of outline.answers) yield `**${escape(answer, longest)}**\n\n`;
  for (const warning of outline.warnings) yield `**Warning:** ${escape(warning, longest)}\n\n`;
  if (outline.whatIf !== undefined) yield table(outline.whatIf);
  yield facts(outline.origins);
  if (outline.vaults !== undefined) yield table(outline.vaults);
  for (const section of outline.sections) yield* describe(section);
  yield `## Rules and inputs\n\n${facts(outline.basis).trimEnd()}\n`;
}

function* describe({
  verdict,
  name,
  facts: told,
  ways,
  evidence,
  tables,
}: Section): Generator<string> {
  yield `## ${escape(name)}: ${verdict}\n\n${facts(told)}`;
  if (ways.length > 0) {
    const lines = ways.map(
      ({ argv, note }) => `${commandLine(argv)}${note === undefined ? "" : ` # ${shown(note)}`}`,
    );
    yield `\`\`\`sh\n${lines.join("\n")}\n\`\`\`\n\n`;
  }
  yield facts(evidence);
  for (const each of tables) yield table(each);
}

/** Formats facts as a list, each with its label. */
const facts = (all: readonly Fact[]): string =>
  all.map(({ label, texts }) => `- **${label}:**${several(texts)}\n`).join("") +
  (all.length > 0 ? "\n" : "");

const several = (texts: readonly string[]): string =>
  texts.length === 1
    ? ` ${escape(texts[0] ?? "", longest)}`
    : texts.map((text) => `\n  - ${escape(text, longest)}`).join("");

function table({ name, heads, rows, notes }: Table): string {
  const lines = [
    heads,
    heads.map(() => "---"),
    ...rows.map(({ cells }) => cells.map((cell) => escape(cell))),
  ];
  return `**${escape(name)}**\n\n${lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("")}\n${notes.map((note) => `${escape(note)}\n\n`).join("")}`;
}

/** Escapes a text that is not trusted: on one line, and nothing of it is markup, a link or a reference to a person. */
export const escape = (text: string, most = 200): string =>
  shown(text, most)
    .replace(/[\\`*_[\]<>#|~$&@]/g, String.raw`\$&`)
    .replace(/:(?=\/\/)/g, String.raw`\:`)
    .replace(/^[-+=]|^\d+(?=[.)])/, (start) => (/^\d/.test(start) ? `${start}\\` : `\\${start}`))
    .replace(/\bwww\./gi, (start) => `${start.slice(0, -1)}\\.`);
