import { distancesOf } from "../vault.ts";
import { eventWords, span, verdictWords } from "../words.ts";
import { counted } from "../../../terminal/count.ts";
import { drawn, lanes, laneWords, shape, lockedPeriods, openPeriods } from "./lanes.ts";
import type { Period } from "./lanes.ts";
import type { Markup } from "./parts.ts";
import { clip, exactTime, html, inline, timeText } from "./parts.ts";
import type { Rules, TimelineEvent, VaultReport } from "../../../documents/audit.ts";

/** Maps times to the axis. Distances are logarithmic, so that seconds and months fit on one page. */
interface Scale {
  /** Maps milliseconds since the epoch to units of the drawing. Times outside the scale are clamped. */
  x(time: number): number;
  /** Silences to mark, by their middle. */
  gaps: { x: number; milliseconds: number }[];
}

/** Creates a scale from `left` to `right` for sorted times, with a minimum distance between them. */
export function scaleOf(times: readonly number[], left: number, right: number): Scale {
  const distances = distancesOf(times);
  const weights = distances.map(({ milliseconds }) => weigh(milliseconds));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  // Half of the width is distributed evenly.
  const even = distances.length === 0 ? 0 : (right - left) / 2 / distances.length;
  const widths = weights.map(
    (weight) => even + (total === 0 ? even : ((right - left) / 2) * (weight / total)),
  );
  const positions = [times.length === 1 ? (left + right) / 2 : left];
  for (const width of widths) positions.push((positions.at(-1) ?? left) + width);
  const x = (time: number): number => {
    const next = times.findIndex((each) => each > time);
    if (next === 0) return positions[0] ?? left;
    if (next === -1) return positions.at(-1) ?? right;
    const [from = 0, to = 0] = [times[next - 1], times[next]];
    const share = weigh(time - from) / weigh(to - from);
    return (positions[next - 1] ?? left) + share * (widths[next - 1] ?? 0);
  };
  const gaps = distances.flatMap(({ milliseconds, isSilence }, index) =>
    isSilence ? [{ x: (positions[index] ?? left) + (widths[index] ?? 0) / 2, milliseconds }] : [],
  );
  return { x, gaps };
}

/** Returns the logarithmic weight of a distance: 1 for a second. */
const weigh = (milliseconds: number): number => Math.log2(1 + milliseconds / 1000);

/** Properties of a drawing besides the vault. */
export interface Drawing {
  rules: Rules;
  /** Time at which the axis ends, if it is later than the last event, in ISO 8601. */
  asOf: string | null;
  /** Suffix of the ids in this drawing. */
  id: string;
}

const width = 960;
const left = 172;
const right = 918;
const top = 30;
const laneHeight = 46;
/** Height of the strip between the lanes and the axis, which says how long the silences are. */
const silences = 14;
const bottom = top + lanes.length * laneHeight + silences;
const height = bottom + 44;
/** Maximum number of events that fit next to each other. */
export const maxDrawn = 32;

/** Renders the events of a vault in lanes, as an image with a description. */
export function timelineOf(vault: VaultReport, drawing: Drawing): Markup {
  const all = vault.timeline ?? [];
  const events = chosen(all);
  const until = Math.max(
    ...[...all.map(({ item }) => item.at), drawing.asOf ?? ""]
      .map(Date.parse)
      .filter(Number.isFinite),
  );
  const locked = lockedPeriods(vault, until);
  const open = openPeriods(all, drawing.rules.tokenLifetimeMs, until);
  const scale = scaleFor(events, locked, until);
  return html`<svg
    class="timeline"
    viewBox="0 0 ${width} ${height}"
    role="img"
    aria-labelledby="title-${drawing.id} desc-${drawing.id}"
  >
    <title id="title-${drawing.id}">Timeline of vault ${clip(vault.uuid, 60)}</title>
    <desc id="desc-${drawing.id}">${description(vault, events)}</desc>
    ${laneRows()} ${bars("locked", top, bottom - top, locked, scale)}
    ${locked.map(({ from }) => label("mark", Math.max(left, scale.x(from)), top - 8, "locked"))}
    ${bars("open", top + laneHeight / 2 - 3, 6, open, scale)} ${axis(events, until, scale)}
    ${shapes(events, scale)}
  </svg>`;
}

/** Creates the scale from the first drawn event to the end, including locks without an event. */
function scaleFor(
  events: readonly TimelineEvent[],
  locked: readonly Period[],
  until: number,
): Scale {
  const times = events.map(({ item }) => Date.parse(item.at));
  const begun = locked.map(({ from }) => from).filter((from) => from > Math.min(...times));
  const moments = [...new Set([...times, ...begun, until])].sort((a, b) => a - b);
  return scaleOf(moments, left + 14, right);
}

const bars = (
  kind: "open" | "locked",
  y: number,
  height: number,
  periods: readonly Period[],
  scale: Scale,
): Markup[] =>
  periods.map(({ from, to, end }) => {
    const x = scale.x(from);
    const size = inline`x="${round(x)}" y="${y}" width="${round(Math.max(3, scale.x(to) - x))}" height="${height}"`;
    const title = `${kind} from ${exactTime(iso(from))} until ${exactTime(iso(to))}: ${end}`;
    return inline`<rect class="${kind}" ${size}><title>${title}</title></rect>`;
  });

const iso = (time: number): string => new Date(time).toISOString();

const round = (value: number): number => Math.round(value * 10) / 10;

/** Chooses the events to draw: the cause, those around the lock, the first one, and the newest of the rest. */
export function chosen(all: readonly TimelineEvent[]): TimelineEvent[] {
  if (all.length <= maxDrawn) return [...all];
  const indexes = [...all.keys()];
  const lock = all.findLastIndex(({ locks }) => locks);
  const near = lock === -1 ? [] : indexes.filter((index) => Math.abs(index - lock) <= 6);
  const order = [
    ...(lock === -1 ? [] : [lock]),
    ...indexes.filter((index) => all[index]?.isCause).toReversed(),
    ...near,
    0,
    ...indexes.toReversed(),
  ];
  const kept = new Set([...new Set(order)].slice(0, maxDrawn));
  return all.filter((_, index) => kept.has(index));
}

function description(vault: VaultReport, events: readonly TimelineEvent[]): string {
  const [first, last] = [events[0], events.at(-1)];
  const range =
    first === undefined || last === undefined
      ? ""
      : ` from ${timeText(first.item.at)} to ${timeText(last.item.at)} UTC`;
  const cause = events.filter(({ isCause }) => isCause).length;
  const locking = events.find(({ locks }) => locks);
  const lock =
    locking === undefined
      ? ""
      : ` The one at ${timeText(locking.item.at)} (${eventWords[locking.item.event]}) locked the vault.`;
  const part = cause === 0 ? "" : ` ${counted(cause, "event is", "events are")} part of the cause.`;
  return `${counted(events.length, "event")}${range}; verdict: ${verdictWords[vault.verdict]}.${part}${lock} The table below lists them.`;
}

const laneRows = (): Markup[] =>
  lanes.map((lane, index) => {
    const y = top + index * laneHeight;
    const name = inline`<text class="name" x="10" y="${y + laneHeight / 2 + 4}">${laneWords[lane]}</text>`;
    return inline`<rect class="lane" x="0" y="${y}" width="${width}" height="${laneHeight}"/>${name}`;
  });

/** Renders the axis, with the times of the most important events for which there is room, and with breaks for silences. */
function axis(events: readonly TimelineEvent[], until: number, scale: Scale): Markup {
  const line = inline`<path class="axis" d="M${left} ${bottom}H${width - 10}"/>`;
  const gaps = scale.gaps.map(({ x, milliseconds }) => {
    const cut = inline`<path class="gap" d="M${round(x - 5)} ${bottom + 5}l4-10M${round(x + 1)} ${bottom + 5}l4-10"/>`;
    return inline`${cut}${label("tick", x, bottom - 4, span(milliseconds))}`;
  });
  const ranked = [...events]
    .sort((a, b) => rank(a, events) - rank(b, events))
    .map(({ item }) => item.at);
  const [first, ...others] = ranked;
  const placed: { x: number; at: string }[] = [];
  for (const at of first === undefined ? [] : [first, iso(until), ...others]) {
    const x = scale.x(Date.parse(at));
    if (placed.every((other) => Math.abs(other.x - x) >= 72)) placed.push({ x, at });
  }
  placed.sort((a, b) => a.x - b.x);
  const ticks = placed.map(({ x, at }, index) => {
    const [day = "", clock = ""] = timeText(at).split(" ");
    const date = placed[index - 1]?.at.slice(0, 10) === at.slice(0, 10) ? "" : day;
    const mark = inline`<path class="axis" d="M${round(x)} ${bottom}v5"/>`;
    return inline`${mark}${label("tick", x, bottom + 18, clock.slice(0, 8))}${label("tick day", x, bottom + 33, date)}`;
  });
  return inline`${line}${gaps}${ticks}`;
}

const label = (kind: string, x: number, y: number, text: string): Markup =>
  text === "" ? inline`` : inline`<text class="${kind}" x="${round(x)}" y="${y}">${text}</text>`;

function rank(event: TimelineEvent, events: readonly TimelineEvent[]): number {
  if (event.locks) return 0;
  if (event === events[0] || event === events.at(-1)) return 1;
  return event.isCause ? 2 : 3;
}

/** Width of a character of a name, at most, and the longest name. */
const letter = 6;
const longestName = 24;

/** Names who acted below an event, where it is not who acted before it in the lane and there is room. */
function named(
  { address, externalRef }: TimelineEvent["item"],
  x: number,
  y: number,
  before: { name?: string; end: number },
): Markup | string {
  const name = externalRef ?? address;
  if (name === undefined || name === before.name) return "";
  const words = clip(name, longestName);
  const start = Math.min(x - 7, width - 4 - letter * words.length);
  if (start < before.end) return "";
  before.name = name;
  before.end = start + letter * words.length;
  return label("who", start, y + 20, words);
}

function shapes(events: readonly TimelineEvent[], scale: Scale): Markup[] {
  const taken = new Map<string, number>();
  const names = new Map(lanes.map((lane) => [lane, { end: Number.NEGATIVE_INFINITY }] as const));
  let number = 0;
  return events.map((event) => {
    const { lane, shape: name } = drawn[event.item.event];
    const exact = scale.x(Date.parse(event.item.at));
    // Simultaneous events in a lane are drawn side by side.
    const x = Math.max(exact, (taken.get(lane) ?? -Infinity) + 13);
    taken.set(lane, x);
    const y = top + lanes.indexOf(lane) * laneHeight + laneHeight / 2;
    const { address, externalRef, at } = event.item;
    const words = [
      exactTime(at),
      eventWords[event.item.event],
      ...[address, externalRef].filter((each) => each !== undefined),
    ];
    if (event.isCause) number += 1;
    const halo = event.isCause
      ? inline`<circle class="halo" r="10"/>${label("number", 9, -9, String(number))}`
      : "";
    const line = event.locks
      ? inline`<path class="locking" d="M${round(x)} ${top - 4}V${bottom}"/>`
      : "";
    const title = `${words.map((each) => clip(each, 80)).join(", ")}${event.locks ? " — this locked the vault" : event.isCause ? " — part of the cause" : ""}`;
    const kinds = `event ${lane}${event.locks ? " locks" : ""}`;
    const drawing = inline`<title>${title}</title>${halo}${shape(name)}`;
    const who = named(event.item, x, y, names.get(lane) ?? { end: 0 });
    return inline`${line}<g class="${kinds}" transform="translate(${round(x)} ${y})">${drawing}</g>${who}`;
  });
}
