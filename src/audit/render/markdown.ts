import type { ReplaySummary, VaultReport, WhatIfReport } from "../../documents/audit.ts";
import { counted, grouped } from "../../terminal/count.ts";
import { timeText } from "./html/parts.ts";
import { whatIfOutline, answerOf, basisOf, needsOf, takeVaults } from "./summary.ts";
import type { Line } from "./words.ts";
import { few, moment, verdictWords } from "./words.ts";
import type { Step, VaultBlock } from "./vault.ts";
import { outlineOf } from "./vault.ts";
import { shown } from "./text/text.ts";

/** Maximum number of vaults that are described. */
export const maxDescribed = 20;
const maxItems = 5;
const maxListed = 10;

/**
 * Yields a report as Markdown, for a ticket: the answer, then the vaults that need action, each with verdict, decisive items and advice.
 * `vaults`: worst first; read only as far as they are described.
 */
export function* writeMarkdown(
  summary: ReplaySummary,
  vaults: Iterable<VaultReport>,
  whatIf?: WhatIfReport,
): Generator<string, void, undefined> {
  const { warning, found, vaults: number, counts, origins } = answerOf(summary);
  const { asOf } = summary;
  const words = counts
    .filter(({ count }) => count > 0)
    .map(({ verdict, count }) => `${grouped(count)} ${verdictWords[verdict]}`)
    .join(", ");
  if (warning !== undefined) yield `**Warning:** ${written(warning)}\n\n`;
  if (whatIf !== undefined) yield changes(whatIf);
  yield `**${written(found)}**\n\n`;
  yield `${number}${words === "" ? "" : `: ${words}`}.`;
  yield ` ${asOf === null ? "" : `As of ${time(asOf)}; `}all times are in UTC.\n\n`;
  if (origins.shown.length > 0) yield `${list(origins.shown.map(written), origins.more)}\n`;
  const { problems } = takeVaults(vaults, { problems: maxDescribed, others: 0 });
  for (const vault of problems) yield describe(vault, summary);
  const more = needsOf(summary).problems - problems.length;
  if (more > 0)
    yield `… and ${counted(more, "more vault needs", "more vaults need")} action; \`vault audit-replay --json\` lists all.\n\n`;
  yield "## Rules and inputs\n\n";
  const { rules, left, inputs, notes } = basisOf(summary);
  const entries = [
    ...rules.map(written),
    ...left.map((words) => `Left out: ${words}`),
    ...inputs.map(
      ({ name, items, format }) => `${escape(name)}: ${counted(items, "item")}, ${format}`,
    ),
    ...notes.map((note) => `Note: ${written(note)}`),
  ];
  const listed = few(entries, maxListed);
  yield list(listed.shown, listed.more);
}

/** Formats the answer to --what-if, with the first vaults that would differ. */
function changes(report: WhatIfReport): string {
  const { title, result, rows, total } = whatIfOutline(report);
  const vaults = rows
    .slice(0, maxListed)
    .map(
      ({ uuid, cells }) =>
        `${escape(uuid)}: ${cells.map(([line = []]) => written(line)).join(" → ")}`,
    );
  const more = list(vaults, total - vaults.length);
  return `**${written(title)}: ${result.words}${result.others}.**\n\n${more === "" ? "" : `${more}\n`}`;
}

function describe(vault: VaultReport, { rules }: ReplaySummary): string {
  const { uuid, label, verdict, since } = vault;
  const name = `${escape(uuid)}${label === null ? "" : ` (${escape(label)})`}`;
  const heading = `## ${name}: ${verdictWords[verdict]}${since === undefined ? "" : ` since ${time(since)}`}`;
  return [heading, ...outlineOf(vault, rules).flatMap(blockText)]
    .map((text) => `${text}\n\n`)
    .join("");
}

/** Returns the text of what a ticket needs of a vault. */
function blockText(block: VaultBlock): string[] {
  switch (block.kind) {
    case "cause":
      return [`**Cause:** ${written(block.line)}`];
    case "fact":
      return block.name === "refused" ? [`**Refused credentials:** ${written(block.line)}`] : [];
    case "confidence":
      return [`**Confidence:** ${written(block.line)}`];
    case "steps":
      return [itemTable(block)];
    case "advice":
      return [
        `**${block.to === "support" ? "Support" : "Developer"}:** ${written([{ sentence: block.text }])}`,
      ];
    case "commands":
      return [`\`\`\`sh\n${block.commands.join("\n")}\n\`\`\``];
    case "origin":
    case "exchanges":
    case "contradictions":
      return [];
  }
}

/** Formats the acknowledgement that replaced refused credentials, if any, and the last items that led to the verdict. */
function itemTable({ replaced, steps }: Extract<VaultBlock, { kind: "steps" }>): string {
  const first = replaced === undefined ? [] : [replaced];
  const row = ({ item, event, locks }: Step): string => {
    const words = `${event}${locks ? " (locks)" : ""}`;
    return `| ${[time(item.at), words, escape(item.externalRef ?? ""), escape(item.address ?? ""), written([{ place: item }])].join(" | ")} |`;
  };
  return [
    "| Time (UTC) | Event | Reference | Address | Item |",
    "|---|---|---|---|---|",
    ...[...first, ...steps.slice(first.length - maxItems)].map(row),
  ].join("\n");
}

const list = (entries: readonly string[], more: number): string =>
  [...entries, ...(more > 0 ? [`and ${grouped(more)} more`] : [])]
    .map((entry) => `- ${entry}\n`)
    .join("");

const time = (at: string): string => escape(timeText(at));

/** Writes a line of an outline, of which nothing from an item is markup. */
const written = (line: Line): string =>
  line
    .map((part) => {
      if (typeof part === "string") return part;
      if ("value" in part) return escape(part.value);
      if ("sentence" in part) return escape(part.sentence, 800).replaceAll(moment, timeText);
      if ("time" in part) return time(part.time);
      if ("place" in part) return `${escape(part.place.input)}, line ${part.place.line}`;
      return "verdict" in part ? verdictWords[part.verdict] : part.certainty;
    })
    .join("");

/** Escapes a text that is not trusted: on one line, and nothing of it is markup, a link or a reference to a person. */
export function escape(text: string, most = 200): string {
  return shown(text, most)
    .replace(/[\\`*_[\]<>#|~$&@]/g, "\\$&")
    .replace(/:(?=\/\/)/g, "\\:")
    .replace(/\bwww\./gi, (start) => `${start.slice(0, -1)}\\.`);
}
