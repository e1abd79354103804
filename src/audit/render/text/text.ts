import stringWidth from "string-width";
import type { ItemReference } from "../../../documents/audit.ts";
import type { Line } from "../words.ts";
import { isMoment, moment, verdictWords } from "../words.ts";
import type { Palette } from "../../../terminal/palette.ts";
import { createPalette } from "../../../terminal/palette.ts";
import { printableLine } from "../../../terminal/redactor.ts";
import type { TerminalFacts } from "../../../terminal/streams.ts";
import type { Cell } from "../../../terminal/tables.ts";
import { cut, rowsTable } from "../../../terminal/tables.ts";
import { localSeconds } from "../../../terminal/time.ts";
import type { Verdict } from "../../report/severity.ts";

/** Where and when a report is shown. */
export interface AuditView {
  isTTY: boolean;
  columns: number;
  palette: Palette;
  /** Current time, in milliseconds since the epoch. */
  now: number;
}

export const viewOn = async (
  { isTTY, columns, color }: TerminalFacts,
  now: number,
): Promise<AuditView> => ({ isTTY, columns, palette: await createPalette(color), now });

type Paint = (text: string) => string;

/**
 * Makes a text from an export safe for one line of a terminal: escapes control and invisible characters and line ends as `\u{1b}`, and
 * cuts it with `…` to `columns`.
 */
export function shown(text: string, columns = 64): string {
  // Marks take no column, but many of them cover the lines above and below.
  const bounded = text.slice(0, columns * 4).replace(/(\p{Mark}{4})\p{Mark}+/gu, "$1");
  const line = printableLine(bounded).replaceAll("\t", "\\u{9}");
  return text.length <= columns * 4 && stringWidth(line) <= columns
    ? line
    : `${cut(line, columns - 1)}…`;
}

/** Makes a sentence with values from items safe for a terminal, with its times (ISO 8601 with `Z`) in local time. */
export const shownSentence = (text: string): string =>
  shown(text, 600).replaceAll(moment, exactTime);

/** Writes a line of an outline, safe for a terminal. */
export const written = (line: Line): string =>
  line
    .map((part) => {
      if (typeof part === "string") return part;
      if ("value" in part) return shown(part.value, 200);
      if ("sentence" in part) return shownSentence(part.sentence);
      if ("time" in part) return exactTime(part.time);
      if ("place" in part) return itemLocation(part.place);
      return "verdict" in part ? verdictWords[part.verdict] : part.certainty;
    })
    .join("");

/** Formats input and line of an item: `export.csv:17`. */
export const itemLocation = ({ input, line }: Pick<ItemReference, "input" | "line">): string =>
  `${shown(input, 40)}:${line}`;

/** Formats an ISO 8601 text as `2026-11-24 14:02:11`, in local time; other text is made safe for a terminal. */
export const exactTime = (at: string): string =>
  isMoment(at) ? localSeconds(new Date(at)) : shown(at, 32);

/** Returns the name of the machine's time zone: `Europe/Berlin`. */
export const zoneName = (): string => new Intl.DateTimeFormat("en").resolvedOptions().timeZone;

export function verdictPaint(verdict: Verdict, palette: Palette): Paint {
  const { bad, warn, good, dim } = palette;
  const paints = {
    locked: bad,
    "at-risk": warn,
    "open-exchange": warn,
    unknown: warn,
    deleted: dim,
    ok: good,
  };
  return paints[verdict];
}

/** Wraps pieces to indented lines; each piece begins a new line. */
export const paragraph = (pieces: readonly Cell[], indent: number, view: AuditView): string[] =>
  tableLines(
    pieces.map((piece) => [piece]),
    indent,
    view,
  );

/** Formats rows of a label and a paragraph, without rows that have no pieces. Rows in succession with the same label have it once. */
export const labelled = (
  rows: readonly (readonly [label: string, pieces: readonly Cell[]])[],
  indent: number,
  view: AuditView,
): string[] =>
  tableLines(
    rows.flatMap(([label, pieces], row) =>
      pieces.map((piece, index) => {
        const isFirst = index === 0 && label !== rows[row - 1]?.[0];
        return [{ text: isFirst ? label : "", paint: view.palette.dim }, piece];
      }),
    ),
    indent,
    view,
  );

const tableLines = (rows: readonly Cell[][], indent: number, view: AuditView): string[] =>
  rowsTable(rows, view.columns, indent).split("\n").slice(0, -1);

/** Ends each line with a newline. */
export const lines = (all: readonly string[]): string => all.map((line) => `${line}\n`).join("");

/** Joins parts, without empty ones, with an empty line between them. */
export const joined = (parts: readonly string[]): string =>
  parts.filter((part) => part !== "").join("\n");
