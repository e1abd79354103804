import stringWidth from "string-width";
import type { ItemReference, Rules, TimelineEvent, VaultReport } from "../../../documents/audit.ts";
import { counted } from "../../../terminal/count.ts";
import type { Palette } from "../../../terminal/palette.ts";
import type { Cell } from "../../../terminal/tables.ts";
import type { Told, Odd } from "../vault.ts";
import { eventsOf, openExchange } from "../vault.ts";
import { eventWords } from "../words.ts";
import type { AuditView } from "./text.ts";
import {
  exactTime,
  itemLocation,
  paragraph,
  shown,
  shownSentence,
  written,
  zoneName,
} from "./text.ts";
import { vaultBlock } from "./vault.ts";

const eventWidth = Math.max(...Object.values(eventWords).map((words) => words.length));
/** Columns of marker, time and distance before the event. */
const indent = 2 + 2 + 8 + 2 + 7 + 2;
const stateWidth = "deleted".length;
const lineWidth = indent + eventWidth + 2 + "0/5  0/3".length + 2 + stateWidth;

/**
 * Formats the report on a vault with its events. A bar marks the items of the cause, an arrow the one that locked the vault.
 * Contradictions follow their events. Ends with a newline.
 */
export function auditTimeline(vault: VaultReport, rules: Rules, view: AuditView): string {
  const omitted = vault.timelineOmitted ?? 0;
  const lines = [
    ...vaultBlock(vault, rules, view),
    "",
    ...heading(vault, view),
    ...(omitted > 0
      ? [`    ${view.palette.dim(`… ${counted(omitted, "earlier event")} not shown`)}`]
      : []),
    ...events(vault, rules, view),
    ...ending(vault, view),
  ];
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
}

function heading({ items, timeline = [] }: VaultReport, view: AuditView): string[] {
  const { input } = timeline[0]?.item ?? {};
  const from = input !== undefined && isOneInput(timeline) ? `in ${shown(input)}; ` : "";
  const words = `${counted(items, "item")}, ${from}times in ${zoneName()}`;
  const counts = "counters: unacknowledged starts, failed attempts in a row";
  return [
    `  ${view.palette.strong("Timeline")}`,
    ...paragraph(
      [words, counts].map((text) => ({ text, paint: view.palette.dim })),
      4,
      view,
    ),
  ];
}

const isOneInput = (timeline: readonly TimelineEvent[]): boolean =>
  timeline.every(({ item }) => item.input === timeline[0]?.item.input);

function* events(vault: VaultReport, rules: Rules, view: AuditView): Iterable<string> {
  const { told, earlier } = eventsOf(vault, rules);
  const oneInput = isOneInput(vault.timeline ?? []);
  const odd = (all: readonly Odd[]): string[] =>
    paragraph(
      all.map(({ words, text }) => ({
        text: `! ${words}: ${shownSentence(text)}`,
        paint: view.palette.warn,
      })),
      indent,
      view,
    );
  yield* odd(earlier);
  let day = "";
  for (const each of told) {
    const { event, after, contradictions } = each;
    if (after?.isSilence === true)
      yield `    ${view.palette.dim(`┄┄┄┄  no items for ${after.words}  ┄┄┄┄`)}`;
    const [date = "", time = ""] = exactTime(event.item.at).split(" ");
    if (date !== day) yield `  ${view.palette.strong(date)}`;
    day = date;
    const source = oneInput ? `line ${event.item.line}` : itemLocation(event.item);
    const who = whoWords(each, source);
    const beside = stringWidth(who) + lineWidth + 2 <= view.columns;
    yield line(each, time, beside ? who : "", rules, view.palette);
    yield* paragraph(details(each, beside ? "" : who, view), indent, view);
    yield* odd(contradictions);
  }
}

function line(
  { event, words, after, counters, state }: Told,
  time: string,
  who: string,
  { limits }: Rules,
  palette: Palette,
): string {
  const { isCause, locks, item } = event;
  const mark = locks ? palette.bad("▶") : isCause ? palette.bad("┃") : " ";
  const paint = locks
    ? (text: string) => palette.bad(palette.strong(text))
    : isCause
      ? palette.bad
      : plainly(item, palette);
  const starts = counterPaint(event.unackedStarts, limits.unackedStarts, palette);
  const failed = counterPaint(event.failedAttempts, limits.failedAttempts, palette);
  const counts = `${starts(counters.starts)}  ${failed(counters.failed)}`;
  const standing = event.state === "exchange-open" ? "open" : state;
  const statePaint = {
    locked: palette.bad,
    "exchange-open": palette.warn,
    active: palette.dim,
    deleted: palette.dim,
  }[event.state];
  const distance = after === undefined ? "" : `+${after.words}`;
  const start = `  ${mark} ${time.padEnd(8)}  ${palette.dim(distance.padEnd(7))}  ${paint(words.padEnd(eventWidth))}  ${counts}`;
  return `${start}  ${statePaint(standing.padEnd(stateWidth))}  ${palette.dim(who)}`;
}

const plainly = ({ event }: ItemReference, palette: Palette) =>
  event.startsWith("failed") || event === "refused-locked" || event === "locking-start"
    ? palette.warn
    : (text: string) => text;

const counterPaint = (count: number, limit: number, palette: Palette) =>
  count >= limit ? palette.bad : count > 0 ? palette.warn : palette.dim;

/** Formats the origin of an item, and where to find the item. */
function whoWords({ event: { item }, action }: Told, source: string): string {
  const { address, externalRef, application } = item;
  const who = [address, externalRef].filter((part) => part !== undefined);
  const named = who.length > 0 || application === undefined ? who : [application];
  const unknown = action === undefined ? [] : [action];
  return [...[...unknown, ...named].map((part) => shown(part)), source].join("  ");
}

/** Returns further details of an event. */
function details({ event: { item, locks }, own }: Told, who: string, view: AuditView): Cell[] {
  const { description } = item;
  return [
    ...(who === "" ? [] : [{ text: who, paint: view.palette.dim }]),
    ...(own === undefined ? [] : [{ text: written(own), paint: view.palette.code }]),
    ...(description === undefined
      ? []
      : [{ text: `“${shown(description, 200)}”`, paint: view.palette.dim }]),
    ...(locks ? [{ text: "this locked the vault", paint: view.palette.bad }] : []),
  ];
}

function ending(vault: VaultReport, view: AuditView): string[] {
  const lines: string[] = [];
  const { moreContradictions, timeline = [] } = vault;
  const open = openExchange(vault);
  if (timeline.length === 0) lines.push(`    ${view.palette.dim("no events")}`);
  if (open !== undefined) {
    const words = `the ${open.operation} is not acknowledged; ${written(open.expiry)}`;
    lines.push(...paragraph([{ text: words, paint: view.palette.warn }], indent, view));
  }
  if (moreContradictions > 0)
    lines.push(
      `    ${view.palette.dim(`… and ${counted(moreContradictions, "more contradiction")}`)}`,
    );
  return lines;
}
