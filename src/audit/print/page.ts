import { createHash } from "node:crypto";
import { commandLine, type Way } from "../../way.ts";
import type { Fact, Report, Row, Section, Table } from "./outline.ts";
import { outlineOf, timeText } from "./outline.ts";
import { longest, shown } from "./text.ts";

/** Text that is already markup. All other text is escaped. */
interface Markup {
  readonly markup: string;
}

type Inserted = string | number | Markup | readonly Inserted[] | undefined;

/**
 * Template tag: escapes inserted values, unless they are markup, and removes indentation. The
 * formatter must not know its name, or it breaks lines of the style, whose hash the policy has.
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

/**
 * Yields a self-contained page in pieces: the answer, then each vault, then the basis. It loads
 * nothing and runs nothing: its policy allows its style by a hash. Every text may be hostile.
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
  for (const [number, each] of outline.sections.entries()) yield* section(each, number);
  yield "</main>\n</body>\n</html>\n";
}

const paragraph = (name: string, text: string): Markup =>
  markup`<p class="${name}">${value(text, longest)}</p>\n`;

/** Yields a table row by row, as there may be thousands. Scrolls in its own box if too wide. */
function* table({ name, heads, rows, notes }: Table): Generator<string> {
  yield markup`<p class="found">${name}</p>
    <div class="scroll" role="group" tabindex="0" aria-label="${name}"><table>
    <thead><tr>${heads.map((head) => markup`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>\n`.markup;
  for (const each of rows) yield row(each).markup;
  yield markup`</tbody></table></div>\n${notes.map((note) => paragraph("quiet", note))}`.markup;
}

function row({ cells, verdict, mark, section: number }: Row): Markup {
  const [name, second, ...rest] = cells.map((cell) => value(timeText(cell)));
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

function* section(each: Section, number: number): Generator<string> {
  const { vault, verdict, name, facts, ways = [], tables = [] } = each;
  const painted = vault && markup`<b class="${vault.verdict}">${verdict}</b> `;
  const heading = name && markup`<h2>${painted}${value(name)}</h2>\n`;
  yield markup`<article id="vault-${number}">\n${heading}${list(facts)}${ways.map(command)}`.markup;
  for (const one of tables) yield* table(one);
  yield "</article>\n";
}

/** Style for light, dark and paper, from 320 pixels. Words and shapes repeat what colors mean. */
const style = `:root {
  color-scheme: light dark;
  --page: #fff; --soft: #f2f4f6; --line: #d5d9df; --text: #1b1e23; --quiet: #565d67; --link: #0b57b0;
  --bad: #b3261e; --warn: #8a5300; --open: #1d5fae; --unknown: #6d3fa0; --good: #1c6b3a;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #16181c; --soft: #22262c; --line: #3a404a; --text: #e7e9ec; --quiet: #a9b0ba; --link: #8fbcff;
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
.quiet, dt, thead th { color: var(--quiet); } .quiet { font-size: .875rem; }
article + article { border-top: 1px solid var(--line); scroll-margin-top: 1rem; } article:target h2 { background: var(--soft); }
dl { display: grid; grid-template-columns: 8rem minmax(0, 1fr); gap: .25rem 1rem; margin: .5rem 0; }
dt { grid-column: 1; } dd { grid-column: 2; margin: 0; }
code { display: block; padding: .3rem .6rem; background: var(--soft); border: 1px solid var(--line); border-radius: .3rem; font: .875rem/1.5 ui-monospace, "Liberation Mono", monospace; user-select: all; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; font-weight: inherit; }
.scroll { overflow-x: auto; } .scroll bdi { overflow-wrap: break-word; } .scroll td { max-width: 24rem; } .scroll td:nth-child(3) { min-width: 6rem; }
tr.cause > :first-child, tr.locks > :first-child { border-left: 4px solid var(--bad); padding-left: .5rem; } tr.locks { color: var(--bad); font-weight: 600; }
@media (max-width: 40rem) {
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; } dt, dd { grid-column: 1; }
  dd:not(:has(+ dd)) { margin-bottom: .5rem; }
}
@media print {
  body { font-size: 10pt; } table { font-size: 7.5pt; }
  .scroll { overflow: visible; } .scroll bdi { overflow-wrap: anywhere; }
  tr, dd { break-inside: avoid; } h2 { break-after: avoid; }
}
@media print, (max-width: 40rem) { .scroll tbody th { white-space: normal; min-width: 6.5rem; } }
`;

const hash = createHash("sha256").update(style).digest("base64");
const policy = `default-src 'none'; style-src 'sha256-${hash}'; script-src 'none'; img-src 'none'; base-uri 'none'; form-action 'none'`;
