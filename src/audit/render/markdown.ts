import { originWords } from "../report/origin-words.ts";
import { counted, grouped } from "../../terminal/count.ts";
import { timeText } from "./html/text.ts";
import { chainOf, hasLocked } from "./model.ts";
import { shown } from "./text/text.ts";
import {
  advisedCommand,
  countsOf,
  eventWords,
  formatOf,
  moment,
  needsOf,
  ruleLines,
  verdictWords,
} from "./words.ts";
import type { ItemReference, ReplaySummary, VaultReport } from "../../documents/audit.ts";
import { isProblem } from "../report/severity.ts";

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
): Generator<string, void, undefined> {
  const { found, asOf, inputs, rules, notes } = summary;
  const counts = countsOf(summary).filter(({ count }) => count > 0);
  const words = counts
    .map(({ verdict, count }) => `${grouped(count)} ${verdictWords[verdict]}`)
    .join(", ");
  yield `**${sentence(found.text)}**\n\n`;
  yield `${counted(summary.vaultCount, "vault")}${words === "" ? "" : `: ${words}`}.`;
  yield ` ${asOf === null ? "" : `As of ${time(asOf)}; `}all times are in UTC.\n\n`;
  if (found.by.length > 1)
    yield `${list(found.by.map((origin) => `${counted(origin.vaults, "vault")}: ${escape(originWords(origin))}`))}\n`;
  let described = 0;
  for (const vault of vaults) {
    if (!isProblem(vault.verdict) || described === maxDescribed) break;
    yield describe(vault);
    described += 1;
  }
  const more = needsOf(summary).problems - described;
  if (more > 0)
    yield `… and ${counted(more, "more vault needs", "more vaults need")} action; \`vault audit-replay --json\` lists all.\n\n`;
  yield "## Rules and inputs\n\n";
  yield list([
    ...ruleLines(rules).map(sentence),
    ...inputs.map(
      (input) => `${escape(input.name)}: ${counted(input.items, "item")}, ${formatOf(input)}`,
    ),
    ...notes.map((note) => `Note: ${sentence(note)}`),
  ]);
}

function describe(vault: VaultReport): string {
  const { uuid, label, verdict, since, cause, certainty, reason, advice } = vault;
  const name = `${escape(uuid)}${label === null ? "" : ` (${escape(label)})`}`;
  const commands = commandsOf(vault);
  return [
    `## ${name}: ${verdictWords[verdict]}${since === undefined ? "" : ` since ${time(since)}`}`,
    ...(cause === undefined ? [] : [`**Cause:** ${sentence(cause.text)}`]),
    ...(cause?.refused === undefined
      ? []
      : [`**Refused credentials:** ${sentence(cause.refused.text)}`]),
    `**Confidence:** ${certainty}: ${sentence(reason)}`,
    ...itemTable(vault),
    `**Support:** ${sentence(advice.support)}`,
    `**Developer:** ${sentence(advice.developer)}`,
    ...(commands.length === 0 ? [] : [`\`\`\`sh\n${commands.join("\n")}\n\`\`\``]),
  ]
    .map((block) => `${block}\n\n`)
    .join("");
}

/** Returns the commands that the advice names. */
function commandsOf({ advice: { support, developer } }: VaultReport): string[] {
  return [...new Set(`${support} ${developer}`.match(advisedCommand))];
}

/** Formats the acknowledgement that replaced refused credentials, if any, and the last items that led to the verdict. */
function itemTable(vault: VaultReport): string[] {
  const replaced = vault.cause?.refused?.replacedBy?.acknowledgement;
  const first = replaced === undefined ? [] : [replaced];
  const items = [...first, ...chainOf(vault).slice(first.length - maxItems)];
  if (items.length === 0) return [];
  const row = (item: ItemReference): string => {
    const event = `${eventWords[item.event]}${hasLocked(vault, item) ? " (locks)" : ""}`;
    return `| ${[time(item.at), event, escape(item.externalRef ?? ""), escape(item.address ?? ""), `${escape(item.input)}, line ${item.line}`].join(" | ")} |`;
  };
  return [
    [
      "| Time (UTC) | Event | Reference | Address | Item |",
      "|---|---|---|---|---|",
      ...items.map(row),
    ].join("\n"),
  ];
}

function list(entries: readonly string[]): string {
  const more =
    entries.length > maxListed ? [`- and ${grouped(entries.length - maxListed)} more`] : [];
  return `${[...entries.slice(0, maxListed).map((entry) => `- ${entry}`), ...more].join("\n")}\n`;
}

const time = (at: string): string => escape(timeText(at));

/** Escapes a sentence with values from items, with its times as elsewhere. */
const sentence = (text: string): string => escape(text, 800).replaceAll(moment, timeText);

/** Escapes a text that is not trusted: on one line, and nothing of it is markup, a link or a reference to a person. */
export function escape(text: string, most = 200): string {
  return shown(text, most)
    .replace(/[\\`*_[\]<>#|~$&@]/g, "\\$&")
    .replace(/:(?=\/\/)/g, "\\:")
    .replace(/\bwww\./gi, (start) => `${start.slice(0, -1)}\\.`);
}
