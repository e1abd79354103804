import { originWords } from "../../report/origin-words.ts";
import { counters, countsOf, needsOf, ruleWords, verdictWords } from "../words.ts";
import { counted, grouped } from "../../../terminal/count.ts";
import type { AuditView } from "./text.ts";
import {
  exactTime,
  joined,
  labelled,
  lines,
  paragraph,
  shown,
  shownSentence,
  verdictPaint,
} from "./text.ts";
import { contradictions, vaultBlock, vaultName, vaultSketch } from "./vault.ts";
import type { Palette } from "../../../terminal/palette.ts";
import { createPalette } from "../../../terminal/palette.ts";
import type { Cell } from "../../../terminal/tables.ts";
import { listTable } from "../../../terminal/tables.ts";
import type { ReplaySummary, VaultReport } from "../../../documents/audit.ts";
import { isProblem } from "../../report/severity.ts";

/** Limits on what is shown of many vaults. */
interface SummaryLimits {
  /** Rows of vaults that need action, and rows of the others, which are shown only if all of the former are. */
  problems: number;
  others: number;
  /** Number of such vaults up to which each is described in full; with more, `sketches` of them are described in a few lines. */
  blocks: number;
  sketches: number;
}

const limits: SummaryLimits = { problems: 40, others: 10, blocks: 8, sketches: 25 };

/**
 * Formats the findings of a replay for a person. `vaults`: worst first; read only as far as they are shown. All text from items is made safe for a
 * terminal. Ends with a newline.
 */
export async function auditSummary(
  summary: ReplaySummary,
  vaults: Iterable<VaultReport>,
  view: AuditView,
  most: Partial<SummaryLimits> = {},
): Promise<string> {
  const palette = await createPalette(view.facts.color);
  const limit = { ...limits, ...most };
  const { problems, others } = take(vaults, limit);
  const total = needsOf(summary).problems;
  const parts = [
    lines([
      ...headline(summary, view, palette),
      countsLine(summary, palette),
      ...origins(summary, view, palette),
    ]),
    await vaultTable(summary, [...problems, ...others], view, palette),
    ...blocks(problems, total, limit, view, palette),
    ...contradictionsOf(others, view, palette),
  ];
  return joined(parts);
}

function take(
  vaults: Iterable<VaultReport>,
  limit: SummaryLimits,
): { problems: VaultReport[]; others: VaultReport[] } {
  const problems: VaultReport[] = [];
  const others: VaultReport[] = [];
  for (const vault of vaults) {
    const [list, most] = isProblem(vault.verdict)
      ? [problems, limit.problems]
      : [others, limit.others];
    if (list.length < most) list.push(vault);
    else break;
  }
  return { problems, others };
}

function headline({ found }: ReplaySummary, view: AuditView, palette: Palette): string[] {
  return paragraph(
    [{ text: shownSentence(found.text, view), paint: palette.strong }],
    2,
    view.facts.columns,
  );
}

const maxOrigins = 10;

/** Formats who caused how many problems, if that is more than the headline says. */
function origins({ found: { by } }: ReplaySummary, view: AuditView, palette: Palette): string[] {
  if (by.length < 2) return [];
  const rows = by
    .slice(0, maxOrigins)
    .map((origin) => `${counted(origin.vaults, "vault")}: ${shown(originWords(origin), 200)}`);
  const more =
    by.length > maxOrigins ? [`… and ${counted(by.length - maxOrigins, "more origin")}`] : [];
  return labelled([["Caused by", [...rows, ...more]]], 2, palette, view.facts.columns);
}

/** Formats counts: `1,250 vaults: 3 locked, 1,247 ok`. */
function countsLine(summary: ReplaySummary, palette: Palette): string {
  const counts = countsOf(summary).filter(({ count }) => count > 0);
  const words = counts.map(({ verdict, count }) =>
    verdictPaint(verdict, palette)(`${grouped(count)} ${verdictWords[verdict]}`),
  );
  return `  ${palette.strong(counted(summary.vaultCount, "vault"))}${words.length === 0 ? "" : `: ${words.join(", ")}`}`;
}

async function vaultTable(
  summary: ReplaySummary,
  vaults: readonly VaultReport[],
  view: AuditView,
  palette: Palette,
): Promise<string> {
  if (vaults.length === 0) return "";
  const { columns } = view.facts;
  const wide = columns >= 119;
  const heading = [
    "Vault",
    "Verdict",
    "Since",
    ...(columns >= 88 ? ["Unacked", "Failures"] : ["Counts"]),
    ...(wide ? ["Rule", "Confidence"] : []),
  ];
  const rows = vaults.map((vault): Cell[] => {
    const { starts, failed } = counters(vault, summary.rules);
    const counts =
      columns >= 88 ? [starts, failed] : [`${starts} ${failed}`.replaceAll(" of ", "/")];
    return [
      shown(vault.uuid, 36),
      { text: verdictWords[vault.verdict], paint: verdictPaint(vault.verdict, palette) },
      vault.since === undefined ? "" : exactTime(vault.since, view.timeZone).slice(0, -3),
      ...counts.map((text) => (isProblem(vault.verdict) ? text : { text, paint: palette.dim })),
      ...(wide
        ? [vault.cause === undefined ? "" : ruleWords[vault.cause.rule], vault.certainty]
        : []),
    ];
  });
  const listed = vaults.filter(({ verdict }) => isProblem(verdict)).length;
  const all = needsOf(summary);
  const more = [
    ...moreLine(all.problems - listed, "that need action"),
    ...moreLine(
      all.others - (vaults.length - listed),
      all.problems > 0 ? "that need no action" : "",
    ),
    ...(columns >= 88 ? [] : ["Counts: unacknowledged starts, failed attempts in a row"]),
  ];
  return (
    listTable(heading, rows, { palette, columns }) +
    lines(more.map((line) => `  ${palette.dim(line)}`))
  );
}

const moreLine = (count: number, which: string): string[] =>
  count <= 0
    ? []
    : [
        `… and ${grouped(count)} more${which === "" ? "" : ` ${which}`}; --json or -o ndjson lists all`,
      ];

function blocks(
  problems: readonly VaultReport[],
  total: number,
  limit: SummaryLimits,
  view: AuditView,
  palette: Palette,
): string[] {
  if (total <= limit.blocks)
    return problems.map((vault) => lines(vaultBlock(vault, view, palette)));
  const few = problems.slice(0, limit.sketches);
  const hint = `  ${palette.dim(`--vault UUID shows one in detail${total > few.length ? `; ${grouped(total - few.length)} more are not described here` : ""}`)}`;
  return [...few.map((vault) => lines(vaultSketch(vault, view, palette))), lines([hint])];
}

/** Formats the contradictions of vaults that need no action. */
function contradictionsOf(
  others: readonly VaultReport[],
  view: AuditView,
  palette: Palette,
): string[] {
  return others
    .map((vault) => ({ vault, pieces: contradictions(vault, view, palette) }))
    .filter(({ pieces }) => pieces.length > 0)
    .map(({ vault, pieces }) => {
      const head = `  ${verdictPaint(vault.verdict, palette)(verdictWords[vault.verdict])}  ${palette.strong(vaultName(vault))}`;
      return lines([head, ...paragraph(pieces, 4, view.facts.columns)]);
    });
}
