import { commandLine } from "../../way.ts";
import type { Fact, Report, Section, Table } from "./outline.ts";
import { outlineOf } from "./outline.ts";
import { longest, shown } from "./terminal.ts";

/** Yields a report as Markdown, for a ticket: the answer, then the vaults that need action, then what the report is based on. */
export function* markdownReport(report: Report): Generator<string, void, undefined> {
  const outline = outlineOf(report, { problems: 20, others: 0, sections: 20 });
  for (const answer of outline.answers) yield `**${escape(answer, longest)}**\n\n`;
  for (const warning of outline.warnings) yield `**Warning:** ${escape(warning, longest)}\n\n`;
  for (const each of outline.sections) yield section(each);
}

function section({ verdict, name, facts: told, ways = [], tables = [] }: Section): string {
  const commands = ways.map(
    ({ argv, note }) => `${commandLine(argv)}${note === undefined ? "" : ` # ${shown(note)}`}\n`,
  );
  const heading = [escape(name ?? ""), verdict ?? []].flat().join(": ");
  return [
    heading === "" ? "" : `## ${heading}\n\n`,
    facts(told),
    commands.length === 0 ? "" : `\`\`\`sh\n${commands.join("")}\`\`\`\n\n`,
    ...tables.map(table),
  ].join("");
}

/** Formats facts as a list, each with its label. */
function facts(all: readonly Fact[]): string {
  const list = all.map(({ label, texts }) => {
    const escaped = texts.map((text) => escape(text, longest));
    const [only] = escaped;
    return `- **${label}:**${escaped.length === 1 ? ` ${only}` : escaped.map((text) => `\n  - ${text}`).join("")}\n`;
  });
  return all.length === 0 ? "" : `${list.join("")}\n`;
}

function table({ name, heads, rows, notes }: Table): string {
  const cells = rows.map((row) => row.cells.map((cell) => escape(cell)));
  const lines = [heads, heads.map(() => "---"), ...cells].map((row) => `| ${row.join(" | ")} |\n`);
  return `**${escape(name)}**\n\n${lines.join("")}\n${notes.map((note) => `${escape(note)}\n\n`).join("")}`;
}

/** Escapes a text that is not trusted: on one line, and nothing of it is markup, a link or a reference to a person. */
export const escape = (text: string, most = 200): string =>
  shown(text, most)
    .replace(/[\\`*_[\]<>#|~$&@]/g, String.raw`\$&`)
    .replace(/:(?=\/\/)/g, String.raw`\:`)
    .replace(/^[-+=]|^\d+(?=[.)])/, (start) => (/^\d/.test(start) ? `${start}\\` : `\\${start}`))
    .replace(/\bwww\./gi, (start) => `${start.slice(0, -1)}\\.`);
