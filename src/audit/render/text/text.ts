import type { Verdict } from "../../report/report.ts";
import { isMoment, moment } from "../words.ts";
import type { Palette } from "../../../terminal/palette.ts";
import { printableLine } from "../../../terminal/redactor.ts";
import type { TerminalFacts } from "../../../terminal/streams.ts";
import { widthOf, wrap } from "../../../terminal/width.ts";

export interface AuditView {
  facts: TerminalFacts;
  /** Current time, in milliseconds since the epoch. */
  now: number;
  /** Default: that of the machine. */
  timeZone?: string;
}

type Paint = (text: string) => string;

/** A text that is wrapped first and then painted line by line. */
export type Piece = string | { text: string; paint: Paint };

/**
 * Makes a text from an export safe for one line of a terminal: escapes control and invisible characters and line ends as `\u{1b}`, and
 * cuts it with `…` to `columns`.
 */
export function shown(text: string, columns = 64): string {
  // Marks take no column, but many of them cover the lines above and below.
  const bounded = text.slice(0, columns * 4).replace(/(\p{Mark}{4})\p{Mark}+/gu, "$1");
  const line = printableLine(bounded).replaceAll("\t", "\\u{9}");
  return text.length <= columns * 4 && widthOf(line) <= columns
    ? line
    : `${cut(line, columns - 1)}…`;
}

function cut(line: string, columns: number): string {
  let kept = "";
  for (const { segment } of new Intl.Segmenter("en", { granularity: "grapheme" }).segment(line)) {
    if (widthOf(kept + segment) > columns) break;
    kept += segment;
  }
  return kept;
}

/** Makes a sentence with values from items safe for a terminal, with its times (ISO 8601 with `Z`) in local time. */
export function shownSentence(text: string, { timeZone }: Pick<AuditView, "timeZone">): string {
  return shown(text, 600).replaceAll(moment, (iso) => exactTime(iso, timeZone));
}

const formats = new Map<string | undefined, Intl.DateTimeFormat>();

/** Formats an ISO 8601 text as `2026-11-24 14:02:11`; other text is made safe for a terminal. */
export function exactTime(at: string, timeZone?: string): string {
  if (!isMoment(at)) return shown(at, 32);
  let format = formats.get(timeZone);
  if (format === undefined) {
    const digits = {
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    } as const;
    format = new Intl.DateTimeFormat("en-CA-u-hc-h23", { year: "numeric", ...digits, timeZone });
    formats.set(timeZone, format);
  }
  const parts = Object.fromEntries(
    format.formatToParts(new Date(at)).map(({ type, value }) => [type, value]),
  );
  return `${parts["year"]}-${parts["month"]}-${parts["day"]} ${parts["hour"]}:${parts["minute"]}:${parts["second"]}`;
}

/** Returns the name of the time zone: `Europe/Berlin`. */
export const zoneName = (timeZone?: string): string =>
  new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone;

export function verdictPaint(verdict: Verdict, palette: Palette): Paint {
  const { bad, warn, good, dim } = palette;
  return { locked: bad, "at-risk": warn, "open-exchange": warn, deleted: dim, ok: good }[verdict];
}

/** Wraps pieces to indented lines of at most `columns`; each piece begins a new line. */
export function paragraph(pieces: readonly Piece[], indent: number, columns: number): string[] {
  const width = Math.max(24, columns - indent);
  return pieces.flatMap((piece) => {
    const [text, paint] =
      typeof piece === "string" ? [piece, (line: string) => line] : [piece.text, piece.paint];
    return wrap(text, width).map((line) => `${" ".repeat(indent)}${paint(line)}`);
  });
}

/** Formats rows of a label and a paragraph, without rows that have no pieces. */
export function labelled(
  rows: readonly (readonly [label: string, pieces: readonly Piece[]])[],
  indent: number,
  palette: Palette,
  columns: number,
): string[] {
  const filled = rows.filter(([, pieces]) => pieces.length > 0);
  const width = Math.max(0, ...filled.map(([label]) => label.length)) + 2;
  return filled.flatMap(([label, pieces]) => {
    const [first = "", ...others] = paragraph(pieces, indent + width, columns);
    return [
      `${" ".repeat(indent)}${palette.dim(label.padEnd(width))}${first.slice(indent + width)}`,
      ...others,
    ];
  });
}

/** Ends each line with a newline. */
export const lines = (all: readonly string[]): string => all.map((line) => `${line}\n`).join("");

/** Joins parts, without empty ones, with an empty line between them. */
export const joined = (parts: readonly string[]): string =>
  parts.filter((part) => part !== "").join("\n");
