import type { ReplaySummary, VaultReport, WhatIfReport } from "../../../documents/audit.ts";
import { counted, grouped } from "../../../terminal/count.ts";
import type { Palette } from "../../../terminal/palette.ts";
import type { Cell } from "../../../terminal/tables.ts";
import { listTable } from "../../../terminal/tables.ts";
import { isProblem } from "../../report/severity.ts";
import type { Answer, Comparison } from "../summary.ts";
import { answerOf, needsOf, takeVaults, whatIfOutline } from "../summary.ts";
import type { Line } from "../words.ts";
import { counters, ruleWords, verdictWords } from "../words.ts";
import type { AuditView } from "./text.ts";
import {
  exactTime,
  joined,
  labelled,
  lines,
  paragraph,
  shown,
  verdictPaint,
  written,
} from "./text.ts";
import { contradictionBlock, vaultBlock, vaultSketch } from "./vault.ts";

/** Limits on what is shown of many vaults. */
interface SummaryLimits {
  /**
   * Rows of vaults that need action, and rows of the others, which are shown only if all of the former are. With none of the others
   * (--problems), nothing is said of them.
   */
  problems: number;
  others: number;
  /** Number of such vaults up to which each is described in full; with more, `sketches` of them are described in a few lines. */
  blocks: number;
  sketches: number;
}

const limits: SummaryLimits = { problems: 40, others: 10, blocks: 8, sketches: 25 };

/**
 * Formats the findings of a replay for a person, the answer to --what-if before all others. `vaults`: worst first; read only as far as they are shown. All text from items is made safe for a
 * terminal. Ends with a newline.
 */
export function auditSummary(
  summary: ReplaySummary,
  vaults: Iterable<VaultReport>,
  view: AuditView,
  whatIf?: WhatIfReport,
  most: Partial<SummaryLimits> = {},
): string {
  const limit = { ...limits, ...most };
  const { problems, others } = takeVaults(vaults, limit);
  const answer = answerOf(summary);
  const parts = [
    lines(warningLines(answer, view)),
    whatIf === undefined ? "" : whatIfLines(whatIf, view),
    lines(opening(answer, view)),
    vaultTable(summary, [...problems, ...others], limit, view),
    ...blocks(problems, summary, limit, view),
    ...others.map((vault) => lines(contradictionBlock(vault, view))),
  ];
  return joined(parts);
}

/** Sentences with what a long report begins with, to be said once more below it. */
export function auditConclusion(summary: ReplaySummary, whatIf?: WhatIfReport): string[] {
  const { warning, found } = answerOf(summary);
  const compared = whatIf && whatIfOutline(whatIf);
  return [
    ...(warning === undefined ? [] : [written(warning)]),
    ...(compared === undefined ? [] : [resultOf(compared)]),
    written(found),
  ];
}

const warningLines = ({ warning }: Answer, view: AuditView): string[] =>
  warning === undefined
    ? []
    : paragraph([{ text: written(warning), paint: view.palette.warn }], 2, view);

/** Formats the answer, the number of vaults by verdict, and who caused how many problems. */
function opening(answer: Answer, view: AuditView): string[] {
  const { found, origins } = answer;
  const others = origins.more > 0 ? [`… and ${counted(origins.more, "more origin")}`] : [];
  const by = [...origins.shown.map((line) => written(line)), ...others];
  return [
    ...paragraph([{ text: written(found), paint: view.palette.strong }], 2, view),
    countsLine(answer, view.palette),
    ...labelled([["Caused by", by]], 2, view),
  ];
}

/** Formats counts: `1,250 vaults: 3 locked, 1,247 ok`. */
function countsLine({ vaults, counts }: Answer, palette: Palette): string {
  const words = counts
    .filter(({ count }) => count > 0)
    .map(({ verdict, count }) =>
      verdictPaint(verdict, palette)(`${grouped(count)} ${verdictWords[verdict]}`),
    );
  return `  ${palette.strong(vaults)}${words.length === 0 ? "" : `: ${words.join(", ")}`}`;
}

function vaultTable(
  summary: ReplaySummary,
  vaults: readonly VaultReport[],
  limit: SummaryLimits,
  view: AuditView,
): string {
  if (vaults.length === 0) return "";
  const columns = view.isTTY ? view.columns : Number.POSITIVE_INFINITY;
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
      { text: verdictWords[vault.verdict], paint: verdictPaint(vault.verdict, view.palette) },
      vault.since === undefined
        ? ""
        : view.isTTY
          ? exactTime(vault.since).slice(0, -3)
          : shown(vault.since, 32),
      ...counts.map((text) =>
        isProblem(vault.verdict) ? text : { text, paint: view.palette.dim },
      ),
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
      limit.others === 0 ? 0 : all.others - (vaults.length - listed),
      all.problems > 0 ? "that need no action" : "",
    ),
    ...(columns >= 88 ? [] : ["Counts: unacknowledged starts, failed attempts in a row"]),
  ];
  return listTable(heading, rows, view) + lines(more.map((line) => `  ${view.palette.dim(line)}`));
}

const moreLine = (count: number, which: string): string[] =>
  count <= 0
    ? []
    : [
        `… and ${grouped(count)} more${which === "" ? "" : ` ${which}`}; --json or -o ndjson lists all`,
      ];

function blocks(
  problems: readonly VaultReport[],
  summary: ReplaySummary,
  limit: SummaryLimits,
  view: AuditView,
): string[] {
  const { rules } = summary;
  const total = needsOf(summary).problems;
  if (total <= limit.blocks) return problems.map((vault) => lines(vaultBlock(vault, rules, view)));
  const few = problems.slice(0, limit.sketches);
  const hint = `  ${view.palette.dim(`--vault VAULT shows one in detail${total > few.length ? `; ${grouped(total - few.length)} more are not described here` : ""}`)}`;
  return [...few.map((vault) => lines(vaultSketch(vault, view))), lines([hint])];
}

const most = 50;

/** Formats the vaults for which a hypothetical change makes a difference. Ends with a newline. */
function whatIfLines(report: WhatIfReport, view: AuditView): string {
  const outline = whatIfOutline(report);
  const { heads, rows, total, result } = outline;
  const paint = result.isGood ? view.palette.good : view.palette.strong;
  const differing = rows.slice(0, most).flatMap(({ uuid, cells }) => [
    "",
    `  ${view.palette.strong(shown(uuid, 48))}`,
    ...labelled(
      cells.map((cell, index) => [heads[index + 1] ?? "", cell.map((line) => painted(line, view))]),
      4,
      view,
    ),
  ]);
  return lines([
    ...paragraph([{ text: resultOf(outline), paint }], 2, view),
    ...differing,
    ...left(total, view.palette),
  ]);
}

/** What a comparison has found: its first line. */
const resultOf = ({ title, result }: Comparison): string =>
  `${written(title)}: ${result.words}${result.others}`;

/** Paints a line that begins with a verdict, and a state, which is a value. */
function painted(line: Line, view: AuditView): Cell {
  const text = written(line);
  const [first] = line;
  if (typeof first !== "object") return text;
  if ("verdict" in first) return { text, paint: verdictPaint(first.verdict, view.palette) };
  return "value" in first ? { text, paint: view.palette.strong } : text;
}

const left = (count: number, palette: Palette): string[] =>
  count <= most
    ? []
    : [
        "",
        `  ${palette.dim(`… and ${grouped(count - most)} more; --json or -o ndjson lists all`)}`,
      ];
