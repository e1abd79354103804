import stringWidth from "string-width";
import { contradictionWords, eventWords, ownWords, span, stateWords } from "../words.ts";
import { counted } from "../../../terminal/count.ts";
import { distancesOf, isSame, openExchange } from "../model.ts";
import type { AuditView } from "./text.ts";
import { exactTime, paragraph, shown, shownSentence, zoneName } from "./text.ts";
import { itemLocation, vaultBlock } from "./vault.ts";
import type { Palette } from "../../../terminal/palette.ts";
import { createPalette } from "../../../terminal/palette.ts";
import type { Cell } from "../../../terminal/tables.ts";
import type {
  Contradiction,
  ItemReference,
  Rules,
  TimelineEvent,
  VaultReport,
} from "../../../documents/audit.ts";

const eventWidth = Math.max(...Object.values(eventWords).map((words) => words.length));
/** Columns of marker, time and distance before the event. */
const indent = 2 + 2 + 8 + 2 + 7 + 2;
const stateWidth = "deleted".length;
const lineWidth = indent + eventWidth + 2 + "0/5  0/3".length + 2 + stateWidth;

/**
 * Formats the report on a vault with its events. A bar marks the items of the cause, an arrow the one that locked the vault.
 * Contradictions follow their events. Ends with a newline.
 */
export async function auditTimeline(
  vault: VaultReport,
  rules: Rules,
  view: AuditView,
): Promise<string> {
  const palette = await createPalette(view.facts.color);
  const timeline = vault.timeline ?? [];
  const omitted = vault.timelineOmitted ?? 0;
  const lines = [
    ...vaultBlock(vault, view, palette),
    "",
    ...heading(vault, view, palette),
    ...(omitted > 0
      ? [`    ${palette.dim(`… ${counted(omitted, "earlier event")} not shown`)}`]
      : []),
    ...events(timeline, vault.contradictions, rules, view, palette),
    ...ending(vault, view, palette),
  ];
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
}

function heading(
  { items, timeline = [] }: VaultReport,
  view: AuditView,
  palette: Palette,
): string[] {
  const { input } = timeline[0]?.item ?? {};
  const from = input !== undefined && isOneInput(timeline) ? `in ${shown(input)}; ` : "";
  const words = `${counted(items, "item")}, ${from}times in ${zoneName(view.timeZone)}`;
  const counts = "counters: unacknowledged starts, failed attempts in a row";
  return [
    `  ${palette.strong("Timeline")}`,
    ...paragraph(
      [words, counts].map((text) => ({ text, paint: palette.dim })),
      4,
      view.facts.columns,
    ),
  ];
}

const isOneInput = (timeline: readonly TimelineEvent[]): boolean =>
  timeline.every(({ item }) => item.input === timeline[0]?.item.input);

function* events(
  timeline: readonly TimelineEvent[],
  contradictions: readonly Contradiction[],
  rules: Rules,
  view: AuditView,
  palette: Palette,
): Iterable<string> {
  const inPlace = placeContradictions(timeline, contradictions);
  const distances = distancesOf(timeline.map(({ item }) => Date.parse(item.at)));
  const oneInput = isOneInput(timeline);
  let day = "";
  for (const [index, event] of timeline.entries()) {
    const since = distances[index - 1];
    const distance = since === undefined ? "" : span(since.milliseconds);
    if (since?.isSilence === true)
      yield `    ${palette.dim(`┄┄┄┄  no items for ${distance}  ┄┄┄┄`)}`;
    const [date = "", time = ""] = exactTime(event.item.at, view.timeZone).split(" ");
    if (date !== day) yield `  ${palette.strong(date)}`;
    day = date;
    const source = oneInput ? `line ${event.item.line}` : itemLocation(event.item);
    const who = whoWords(event.item, source);
    const beside = stringWidth(who) + lineWidth + 2 <= view.facts.columns;
    yield line(
      event,
      time,
      distance === "" ? "" : `+${distance}`,
      beside ? who : "",
      rules,
      palette,
    );
    yield* paragraph(details(event, beside ? "" : who, view, palette), indent, view.facts.columns);
    yield* paragraph(
      (inPlace.get(index) ?? []).map((each) => contradiction(each, view, palette)),
      indent,
      view.facts.columns,
    );
  }
  yield* paragraph(
    (inPlace.get(-1) ?? []).map((each) => contradiction(each, view, palette)),
    indent,
    view.facts.columns,
  );
}

function line(
  event: TimelineEvent,
  time: string,
  distance: string,
  who: string,
  rules: Rules,
  palette: Palette,
): string {
  const { isCause, locks, item, state } = event;
  const mark = locks ? palette.bad("▶") : isCause ? palette.bad("┃") : " ";
  const words = eventWords[item.event].padEnd(eventWidth);
  const paint = locks
    ? (text: string) => palette.bad(palette.strong(text))
    : isCause
      ? palette.bad
      : plainly(item, palette);
  const count = (n: number, limit: number): string =>
    counterPaint(n, limit, palette)(`${n}/${limit}`);
  const counts = `${count(event.unackedStarts, rules.limits.unackedStarts)}  ${count(event.failedAttempts, rules.limits.failedAttempts)}`;
  const standing = state === "exchange-open" ? "open" : stateWords[state];
  const statePaint = {
    locked: palette.bad,
    "exchange-open": palette.warn,
    active: palette.dim,
    deleted: palette.dim,
  }[state];
  const start = `  ${mark} ${time.padEnd(8)}  ${palette.dim(distance.padEnd(7))}  ${paint(words)}  ${counts}`;
  return `${start}  ${statePaint(standing.padEnd(stateWidth))}  ${palette.dim(who)}`;
}

const plainly = ({ event }: ItemReference, palette: Palette) =>
  event.startsWith("failed") || event === "refused-locked" || event === "locking-start"
    ? palette.warn
    : (text: string) => text;

const counterPaint = (count: number, limit: number, palette: Palette) =>
  count >= limit ? palette.bad : count > 0 ? palette.warn : palette.dim;

/** Formats the origin of an item, and where to find the item. */
function whoWords(
  { address, externalRef, application, event, action }: ItemReference,
  source: string,
): string {
  const who = [address, externalRef].filter((part) => part !== undefined);
  const named = who.length > 0 || application === undefined ? who : [application];
  const unknown = event === "other" || event === "application" ? [action] : [];
  return [...[...unknown, ...named].map((part) => shown(part)), source].join("  ");
}

/** Returns further details of an event. */
function details(
  { item, locks }: TimelineEvent,
  who: string,
  view: AuditView,
  palette: Palette,
): Cell[] {
  const { description } = item;
  const own = ownWords(item, (iso) => exactTime(iso, view.timeZone));
  return [
    ...(who === "" ? [] : [{ text: who, paint: palette.dim }]),
    ...(own === undefined ? [] : [{ text: shownSentence(own, view), paint: palette.code }]),
    ...(description === undefined
      ? []
      : [{ text: `“${shown(description, 200)}”`, paint: palette.dim }]),
    ...(locks ? [{ text: "this locked the vault", paint: palette.bad }] : []),
  ];
}

function contradiction(each: Contradiction, view: AuditView, palette: Palette): Cell {
  return {
    text: `! ${contradictionWords[each.kind]}: ${shownSentence(each.text, view)}`,
    paint: palette.warn,
  };
}

/** Groups contradictions by the index of their event or, if it is not listed, of the last event before them; -1 if there is none. */
function placeContradictions(
  timeline: readonly TimelineEvent[],
  all: readonly Contradiction[],
): Map<number, Contradiction[]> {
  const placed = new Map<number, Contradiction[]>();
  for (const each of all) {
    const same = timeline.findIndex(({ item }) => isSame(item, each.item));
    const before = timeline.findLastIndex(({ item }) => Date.parse(item.at) <= Date.parse(each.at));
    const index = same === -1 ? before : same;
    placed.set(index, [...(placed.get(index) ?? []), each]);
  }
  return placed;
}

function ending(vault: VaultReport, view: AuditView, palette: Palette): string[] {
  const lines: string[] = [];
  const { moreContradictions, timeline = [] } = vault;
  const open = openExchange(vault);
  if (timeline.length === 0) lines.push(`    ${palette.dim("no events")}`);
  if (open !== undefined) {
    const words = `the ${open.operation} is not acknowledged; ${open.token} ${exactTime(open.tokenExpiry, view.timeZone)}`;
    lines.push(...paragraph([{ text: words, paint: palette.warn }], indent, view.facts.columns));
  }
  if (moreContradictions > 0)
    lines.push(`    ${palette.dim(`… and ${counted(moreContradictions, "more contradiction")}`)}`);
  return lines;
}
