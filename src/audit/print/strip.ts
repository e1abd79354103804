import type { TimelineEvent, VaultReport } from "../../documents/audit.ts";
import type { EventKind } from "../fold/events.ts";
import type { Markup } from "./markup.ts";
import { clip, markup, value } from "./markup.ts";
import { eventWords, timeText } from "./words.ts";

/** Paths of the kinds of marks, centered on 0,0 and 12 units wide: color is not needed to tell them apart. */
const paths = {
  start: "M-5-6L6 0L-5 6Z",
  acknowledged: "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0-5 0Z",
  refused: "M-6-4L-4-6L0-2L4-6L6-4L2 0L6 4L4 6L0 2L-4 6L-6 4L-2 0Z",
  other: "M-4-4H4V4H-4Z",
} as const;

type Kind = keyof typeof paths;

function kindOf(event: EventKind): Kind {
  if (/^(?:ack-|un(?:answered|clear)-ack)/.test(event)) return "acknowledged";
  if (/^(?:read|update|un(?:answered|clear)-start)$/.test(event)) return "start";
  return /^(?:failed|refused|locking|gone|not-performed|unauthorized)/.test(event)
    ? "refused"
    : "other";
}

/** Maximum number of events that are drawn, and of clients that have a row. */
const maxDrawn = 100;
const maxClients = 8;

const shape = (kind: Kind): Markup => markup`<path class="${kind}" d="${paths[kind]}"/>`;

/** Renders the newest events of a vault as marks in time, a row for each client. */
export function strip({ timeline = [], lockedAt, cause }: VaultReport, hasLegend: boolean): Markup {
  const newest = timeline.slice(-maxDrawn);
  const isDrawn = new Set(newest.map(({ item }) => `${item.line} ${item.input}`));
  const older = (cause?.chain ?? []).filter(({ line, input }) => !isDrawn.has(`${line} ${input}`));
  const events = [
    ...older.map((item): Event => ({ item, isCause: true, locks: false })),
    ...newest,
  ];
  const place = placesOf(events.map(({ item }) => Date.parse(item.at)));
  const lock = place(lockedAt === undefined ? Infinity : Date.parse(lockedAt));
  const band = markup`<rect class="locked" x="${lock}%" y="0" width="${100 - lock}%" height="24"/>`;
  const rows = [...clientsOf(events)].map(([client, theirs]) => {
    const marks = theirs.map((event) => mark(event, place(Date.parse(event.item.at))));
    const words = `${theirs.length} of ${events.length} events`;
    return markup`<tr><th scope="row">${value(client, 60)}</th><td><svg height="24" role="img" aria-label="${words}">${lockedAt === undefined ? "" : band}${marks}</svg></td></tr>\n`;
  });
  const [first, last] = [events[0], events.at(-1)].map((event) => timeText(event?.item.at ?? ""));
  return markup`<table class="strip" aria-label="Events by client"><tbody>
    ${rows}<tr><td></td><td class="ends"><span>${first}</span> <span>${last}</span></td></tr></tbody></table>
    ${hasLegend ? legend() : ""}`;
}

type Event = Pick<TimelineEvent, "item" | "isCause" | "locks">;

/** Explains the marks. */
function legend(): Markup {
  const key = (drawing: Markup, words: string): Markup =>
    markup`<li><svg width="20" height="16" viewBox="-10 -8 20 16" aria-hidden="true">${drawing}</svg>${words}</li>\n`;
  return markup`<ul class="legend">${(Object.keys(paths) as Kind[]).map((kind) => key(shape(kind), kind))}
    ${key(markup`<g class="cause">${shape("refused")}</g>`, "led to the lock")}
    ${key(markup`<rect class="locked" x="-10" y="-8" width="20" height="16"/>`, "locked")}
    <li>Long pauses are drawn short.</li></ul>
    `;
}

function mark({ item, isCause, locks }: Event, x: number): Markup {
  const words = `${timeText(item.at)}, ${eventWords[item.event]}${locks ? ": locks" : ""}`;
  return markup`<svg x="${x}%" y="12" overflow="visible"><title>${clip(words, 120)}</title><g${isCause ? markup` class="cause"` : ""}>${shape(kindOf(item.event))}</g></svg>`;
}

/** Places sorted times from 2 to 98 percent: the logarithms of their distances make seconds and months fit into one line. */
export function placesOf(times: readonly number[]): (time: number) => number {
  let end = 0;
  const places = times.map((time, index) => {
    const before = times[index - 1];
    end += before === undefined ? 0 : 1 + Math.log2(1 + Math.max(0, time - before) / 1000);
    return end;
  });
  return (time) => {
    const index = times.findIndex((each) => each >= time);
    const at = index === -1 ? end : (places[index] ?? 0);
    return Math.round(20 + (end === 0 ? 480 : (960 * at) / end)) / 10;
  };
}

/**
 * Groups events by client: by the reference, if it is that of several starts, else by the address. A reference that occurs in one exchange
 * names the exchange, and not the client.
 */
function clientsOf(events: readonly Event[]): Map<string, Event[]> {
  const started = events.filter(({ item }) => !item.event.includes("ack"));
  const isClient = (reference: string): boolean =>
    started.filter(({ item }) => item.externalRef === reference).length > 1;
  const single = new Set(started.map(({ item }) => item.externalRef ?? ""));
  for (const reference of single)
    if (reference === "" || isClient(reference)) single.delete(reference);
  const clients = new Map<string, Event[]>();
  for (const event of events) {
    const { externalRef, address, application = "unknown" } = event.item;
    const origin = address ?? application;
    const isNamed = single.size < 2 || !single.has(externalRef ?? "");
    const name =
      externalRef === undefined
        ? origin
        : `${isNamed ? externalRef : "single exchanges"} from ${origin}`;
    const row = clients.has(name) || clients.size < maxClients - 1 ? name : "others";
    clients.set(row, [...(clients.get(row) ?? []), event]);
  }
  return clients;
}
