import { createHash } from "node:crypto";
import type { TimelineEvent } from "../../documents/audit.ts";
import { commandLine, type Way } from "../../way.ts";
import { clientWords, recurring } from "../explain/log.ts";
import { callOf, endOf, eventWords, type EventKind } from "../fold/events.ts";
import type { Fact, Report, Row, Section, Table } from "./outline.ts";
import { outlineOf, timeText } from "./outline.ts";
import { longest, shown } from "./text.ts";

/** Text that is already markup. All other text is escaped. */
interface Markup {
  readonly markup: string;
}

type Inserted = string | number | Markup | readonly Inserted[] | undefined;

/**
 * Template tag for markup. Escapes inserted values, unless they are markup, and removes the indentation of the source. Its name is none
 * that the formatter knows: it would break the lines of the style, whose hash is in the policy of the page.
 */
function markup(strings: TemplateStringsArray, ...inserted: readonly Inserted[]): Markup {
  const [first = "", ...others] = strings.map((text) => text.replace(/\n +/g, "\n"));
  return {
    markup: others.reduce((all, text, index) => all + write(inserted[index]) + text, first),
  };
}

function write(value: Inserted): string {
  if (value === undefined) return "";
  if (typeof value === "string") return escape(value);
  if (typeof value === "number") return String(value);
  return "markup" in value ? value.markup : value.map(write).join("");
}

/** Escapes a text for content or a quoted attribute. No text enters the page in another way. */
export const escape = (text: string): string =>
  shown(text, longest).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Renders a text that may be from a log, isolated from the direction of the text around it. */
const value = (text: string, most = 200): Markup => markup`<bdi>${shown(text, most)}</bdi>`;

/** Maximum number of vaults with a section of their own, and of rows in the table. */
export const maxSections = 300;
export const maxRows = 5000;
/** Maximum number of events that are drawn. */
const maxDrawn = 100;

/**
 * Yields a self-contained page in pieces: the answer, then each vault, then the basis. It loads nothing and runs nothing: its policy
 * allows its style by a hash. Every text may be hostile.
 */
export function* pageReport({
  title,
  generatedAt,
  ...report
}: Report & { title: string; generatedAt: string }): Generator<string, void, undefined> {
  const outline = outlineOf(report, { problems: maxRows, others: maxRows, sections: maxSections });
  const [answer = "", ...others] = outline.answers;
  const [, { vault: worst } = {}] = outline.sections;
  yield markup`<!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="${policy}">
    <meta name="referrer" content="no-referrer">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${shown(title)}</title>
    <style>${{ markup: style }}</style>
    </head>
    <body>
    <header class="${worst?.verdict ?? "ok"}">
    <h1>${value(answer, longest)}</h1>
    ${others.map((text) => paragraph("found", text))}${outline.warnings.map((text) => paragraph("warning", text))}
    <p class="quiet">${value(title)}. Generated ${timeText(generatedAt).slice(0, 19)} UTC by vault audit-replay. All times are in UTC.</p>
    </header>
    <main>
    `.markup;
  const drawn = outline.sections.findIndex(({ timeline = [] }) => timeline.length > 0);
  for (const [number, each] of outline.sections.entries())
    yield* section(each, number, number === drawn);
  yield "</main>\n</body>\n</html>\n";
}

const paragraph = (name: string, text: string): Markup =>
  markup`<p class="${name}">${value(text, longest)}</p>\n`;

/** Yields a table a row at a time, because there may be thousands. It scrolls in its own box if it is too wide. */
function* table({ name, heads, rows, notes }: Table): Generator<string> {
  yield markup`<p class="found">${name}</p>
    <div class="scroll" role="group" tabindex="0" aria-label="${name}"><table>
    <thead><tr>${heads.map((head) => markup`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>\n`.markup;
  for (const each of rows) yield row(each).markup;
  yield markup`</tbody></table></div>\n${notes.map((note) => paragraph("quiet", note))}`.markup;
}

function row({ cells, verdict, mark, section: number }: Row): Markup {
  const [name, second, ...rest] = cells.map((cell) => value(cell));
  const first = number === undefined ? name : markup`<a href="#vault-${number}">${name}</a>`;
  const painted = verdict === undefined ? second : markup`<b class="${verdict}">${second}</b>`;
  return markup`<tr class="${mark ?? ""}"><th scope="row">${first}</th><td>${painted}</td>${rest.map((cell) => markup`<td>${cell}</td>`)}</tr>\n`;
}

const list = (facts: readonly Fact[]): Markup | undefined =>
  facts.length === 0
    ? undefined
    : markup`<dl>${facts.map(({ label, texts }) => markup`<dt>${label}</dt>${texts.map((text) => markup`<dd>${value(text, longest)}</dd>`)}\n`)}</dl>\n`;

const command = ({ argv, note }: Way): Markup =>
  markup`<p><code>${commandLine(argv)}</code></p>${note === undefined ? "" : paragraph("quiet", note)}\n`;

function* section(each: Section, number: number, hasLegend: boolean): Generator<string> {
  const { vault, verdict, name, facts, ways = [], tables = [], timeline = [] } = each;
  const painted = vault && markup`<b class="${vault.verdict}">${verdict}</b> `;
  const heading = name && markup`<h2>${painted}${value(name)}</h2>\n`;
  const newest = vault?.timeline?.slice(-maxDrawn) ?? [];
  const drawing = newest.length === 0 ? "" : strip(newest, vault?.lockedAt, hasLegend);
  yield markup`<article id="vault-${number}">\n${heading}${list(facts)}${ways.map(command)}${drawing}`
    .markup;
  for (const one of tables) yield* table(one);
  for (const one of timeline) {
    yield "<details><summary>All events</summary>";
    yield* table(one);
    yield "</details>\n";
  }
  yield "</article>\n";
}

/** Paths of the kinds of marks, centered on 0,0 and 12 units wide: color is not needed to tell them apart. */
const paths = {
  start: "M-5-6L6 0L-5 6Z",
  acknowledged: "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0-5 0Z",
  refused: "M-6-4L-4-6L0-2L4-6L6-4L2 0L6 4L4 6L0 2L-4 6L-6 4L-2 0Z",
  other: "M-4-4H4V4H-4Z",
} as const;

type Kind = keyof typeof paths;

function kindOf(event: EventKind): Kind {
  const [call, end] = [callOf(event), endOf(event)];
  if (end === "failed" || end === "refused") return "refused";
  return end === undefined ? "other" : call === "end" ? "acknowledged" : "start";
}

const shape = (kind: Kind): Markup => markup`<path class="${kind}" d="${paths[kind]}"/>`;

/** Renders events of a vault as marks in time, a row for each client. */
function strip(
  events: readonly TimelineEvent[],
  lockedAt: string | undefined,
  hasLegend: boolean,
): Markup {
  const place = placesOf(events.map(({ item }) => Date.parse(item.at)));
  const clients = recurring(events.map(({ item }) => item));
  const theirs = Map.groupBy(
    events,
    ({ item: { externalRef = "", ...item } }) =>
      clientWords(clients.has(externalRef) ? { ...item, externalRef } : item) || "unknown",
  );
  const lock = place(Date.parse(lockedAt ?? ""));
  const band =
    lockedAt === undefined
      ? ""
      : markup`<rect class="locked" x="${lock}%" y="0" width="${100 - lock}%" height="24"/>`;
  const rows = [...theirs].map(([client, own]) => {
    const marks = own.map((event) => mark(event, place(Date.parse(event.item.at))));
    const words = `${own.length} of ${events.length} events`;
    return markup`<tr><th scope="row">${value(client, 60)}</th><td><svg height="24" role="img" aria-label="${words}">${band}${marks}</svg></td></tr>\n`;
  });
  const [first, last] = [events[0], events.at(-1)].map((event) => timeText(event?.item.at ?? ""));
  return markup`<table class="strip" aria-label="Events by client"><tbody>
    ${rows}<tr><td></td><td class="ends"><span>${first}</span> <span>${last}</span></td></tr></tbody></table>
    ${hasLegend ? legend() : ""}`;
}

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

function mark({ item, isCause, locks }: TimelineEvent, x: number): Markup {
  const words = `${timeText(item.at)}, ${eventWords(item.event)}${locks ? ": locks" : ""}`;
  return markup`<svg x="${x}%" y="12" overflow="visible"><title>${words}</title><g class="${isCause ? "cause" : ""}">${shape(kindOf(item.event))}</g></svg>`;
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

/** The style of the page: light, dark and on paper, from 320 pixels on. Words and shapes repeat what colors mean. */
const style = `:root {
  color-scheme: light dark;
  --page: #fff; --soft: #f2f4f6; --line: #d5d9df; --text: #1b1e23; --quiet: #565d67; --link: #0b57b0; --band: #b3261e22;
  --bad: #b3261e; --warn: #8a5300; --open: #1d5fae; --unknown: #6d3fa0; --good: #1c6b3a;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #16181c; --soft: #22262c; --line: #3a404a; --text: #e7e9ec; --quiet: #a9b0ba; --link: #8fbcff; --band: #ff938a2e;
    --bad: #ff938a; --warn: #f0be5a; --open: #8fbcff; --unknown: #cdb0f5; --good: #7ed49a;
  }
}
.locked { --hue: var(--bad); } .at-risk { --hue: var(--warn); } .open-exchange { --hue: var(--open); }
.unknown { --hue: var(--unknown); } .deleted { --hue: var(--quiet); } .ok { --hue: var(--good); }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 1.25rem clamp(.75rem, 3vw, 2rem) 3rem; background: var(--page); color: var(--text); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
header { padding-left: 1rem; border-left: 6px solid var(--hue); }
h1 { margin: 0; font-size: 1.4rem; line-height: 1.3; } h2 { margin: 2rem 0 .5rem; font-size: 1.15rem; } p { margin: .5rem 0; }
a { color: var(--link); } b { color: var(--hue); }
h2 b, .scroll tbody th { white-space: nowrap; }
bdi, code { overflow-wrap: anywhere; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.found { margin-top: .75rem; font-weight: 600; }
.warning { padding: .5rem .75rem; background: var(--soft); border: 1px solid var(--warn); border-radius: .3rem; }
.quiet, dt, thead th, .ends, .legend { color: var(--quiet); } .quiet, .ends, .legend { font-size: .875rem; }
article + article { border-top: 1px solid var(--line); scroll-margin-top: 1rem; } article:target h2 { background: var(--soft); }
dl { display: grid; grid-template-columns: 8rem minmax(0, 1fr); gap: .25rem 1rem; margin: .5rem 0; }
dt { grid-column: 1; } dd { grid-column: 2; margin: 0; }
code { display: block; padding: .3rem .6rem; background: var(--soft); border: 1px solid var(--line); border-radius: .3rem; font: .875rem/1.5 ui-monospace, "Liberation Mono", monospace; user-select: all; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; font-weight: inherit; }
.scroll { overflow-x: auto; } .scroll bdi { overflow-wrap: break-word; } .scroll td { max-width: 24rem; } .scroll td:nth-child(3) { min-width: 6rem; }
tr.cause > :first-child, tr.locks > :first-child { border-left: 4px solid var(--bad); padding-left: .5rem; } tr.locks { color: var(--bad); font-weight: 600; }
summary { cursor: pointer; color: var(--link); width: fit-content; margin: .75rem 0; }
.strip { margin: 1rem 0 .25rem; table-layout: fixed; }
.strip th { width: 12rem; } .strip td { padding: .3rem 0; } .strip tr:last-child td { border: 0; }
.strip td > svg { display: block; width: 100%; overflow: visible; }
.ends span:last-child { float: right; } .legend { display: flex; flex-wrap: wrap; gap: .1rem 1.25rem; margin: 0; padding: 0; list-style: none; }
.legend svg { vertical-align: middle; margin-right: .3rem; }
.start { fill: var(--open); } .acknowledged { fill: var(--good); } .refused { fill: var(--bad); } .other { fill: var(--quiet); }
rect.locked { fill: var(--band); } .cause path { stroke: var(--text); stroke-width: 1.5; }
@media (max-width: 40rem) {
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; } dt, dd { grid-column: 1; }
  dd:not(:has(+ dd)) { margin-bottom: .5rem; }
  .strip th { width: 6rem; }
}
@media print {
  body { font-size: 10pt; } table { font-size: 7.5pt; }
  details::details-content { content-visibility: visible; block-size: auto; }
  .scroll { overflow: visible; } .scroll bdi { overflow-wrap: anywhere; }
  tr, dd, .strip { break-inside: avoid; } h2 { break-after: avoid; }
}
@media print, (max-width: 40rem) { .scroll tbody th { white-space: normal; min-width: 6.5rem; } }
`;

const hash = createHash("sha256").update(style).digest("base64");
const policy = `default-src 'none'; style-src 'sha256-${hash}'; script-src 'none'; img-src 'none'; base-uri 'none'; form-action 'none'`;
