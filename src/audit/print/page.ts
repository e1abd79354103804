import { createHash } from "node:crypto";
import { commandLine, type Way } from "../../way.ts";
import type { Markup } from "./markup.ts";
import { clip, markup, value } from "./markup.ts";
import type { Report } from "./outline.ts";
import { outlineOf } from "./outline.ts";
import { longest, type Fact, type Row, type Section, type Table } from "./section.ts";
import { strip } from "./strip.ts";
import { style } from "./style.ts";
import { timeText } from "./words.ts";

/** Without it all is shown; with it, vaults can be searched for, also by what the browser kept of an earlier visit. */
const script = `"use strict";
const find = document.getElementById("find"), all = [...document.querySelectorAll("[data-find]")];
const apply = () => {
  const words = find.value.toLowerCase().split(/\\s+/);
  for (const each of all) each.hidden = !words.every((word) => each.dataset.find.includes(word));
  const rows = all.filter((each) => each.localName === "tr"), shown = rows.filter((row) => !row.hidden);
  document.getElementById("shown").textContent = shown.length + " of " + rows.length + " vaults shown";
};
if (find !== null) {
  find.parentElement.hidden = false;
  find.addEventListener("input", apply);
  apply();
}
`;

/** Maximum number of vaults with a section of their own, and of rows in the table. */
export const maxSections = 300;
export const maxRows = 5000;
const maxEvents = 100;
/** Up to so many vaults, a page with a section for each needs no table of them. */
const few = 3;

/**
 * Yields a self-contained page in pieces: the answer, then each vault, then the basis. It loads nothing and runs only its own script:
 * its policy allows that script and its style by their hashes. Every text may be hostile.
 */
export function* pageReport(
  facts: Report & { title: string; generatedAt: string },
): Generator<string, void, undefined> {
  const outline = outlineOf(facts, { problems: maxRows, others: maxRows, sections: maxSections });
  const [answer = "", ...others] = outline.answers;
  const title = clip(facts.title, 200);
  const generated = `Generated ${timeText(facts.generatedAt).slice(0, 19)} UTC by vault audit-replay. All times are in UTC.`;
  yield markup`<!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="${policy}">
    <meta name="referrer" content="no-referrer">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${title}</title>
    <style>${{ markup: style }}</style>
    </head>
    <body>
    <header class="${outline.verdict}">
    <h1>${value(answer, longest)}</h1>
    ${others.map((text) => paragraph("found", text))}${outline.warnings.map((text) => paragraph("warning", text))}
    <p class="quiet">${value(title)}. ${generated}</p>
    </header>
    <main>
    `.markup;
  if (outline.whatIf !== undefined) yield table(outline.whatIf).markup;
  if (outline.origins.length > 0) yield list(outline.origins).markup;
  if (outline.vaults !== undefined && !isSaid(outline.vaults)) yield* vaultTable(outline.vaults);
  const drawn = outline.sections.find(({ timeline }) => timeline !== undefined);
  for (const [index, each] of outline.sections.entries())
    yield section(each, index + 1, each.timeline && strip(each.vault, each === drawn)).markup;
  yield markup`<section aria-labelledby="basis">
    <h2 id="basis">Rules and inputs</h2>
    ${list(outline.basis)}
    </section>
    </main>
    <script>${{ markup: script }}</script>
    </body>
    </html>
    `.markup;
}

const hash = (text: string): string =>
  `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const policy = `default-src 'none'; style-src ${hash(style)}; script-src ${hash(script)}; img-src 'none'; base-uri 'none'; form-action 'none'`;

const paragraph = (name: string, text: string): Markup =>
  markup`<p class="${name}">${value(text, longest)}</p>\n`;

/** Whether all is said in sections. */
const isSaid = ({ rows, notes }: Table): boolean =>
  rows.length <= few &&
  notes.length === 0 &&
  rows.every(({ section: number }) => number !== undefined);

const table = ({ name, heads, rows, notes }: Table): Markup =>
  markup`${tableStart(name, heads)}${rows.map(row)}${tableEnd}${notes.map((note) => paragraph("quiet", note))}`;

/** Yields the table of vaults a row at a time, because there may be thousands. */
function* vaultTable({ name, heads, rows, notes }: Table): Generator<string> {
  yield markup`<p role="search" hidden>
    <label for="find">Find a vault, label, verdict, address or reference</label>
    <input type="search" id="find" autocomplete="off" spellcheck="false">
    <span id="shown" role="status"></span></p>
    ${tableStart(name, heads)}`.markup;
  for (const each of rows) yield row(each).markup;
  yield markup`${tableEnd}${notes.map((note) => paragraph("quiet", note))}`.markup;
}

/** A table scrolls in its own box where it is too wide. */
const tableStart = (name: string, heads: readonly string[]): Markup =>
  markup`<p class="found">${name}</p>
    <div class="scroll" role="group" tabindex="0" aria-label="${name}"><table>
    <thead><tr>${heads.map((head) => markup`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>\n`;

const tableEnd = markup`</tbody></table></div>\n`;

function row({ cells, verdict, mark, section: number, find }: Row): Markup {
  const [name, second, ...rest] = cells.map((cell) => value(cell));
  const first = number === undefined ? name : markup`<a href="#vault-${number}">${name}</a>`;
  const painted = verdict === undefined ? second : markup`<b class="${verdict}">${second}</b>`;
  const found = find === undefined ? "" : markup` data-find="${find}"`;
  const marked = mark === undefined ? "" : markup` class="${mark}"`;
  return markup`<tr${found}${marked}><th scope="row">${first}</th><td>${painted}</td>${rest.map((cell) => markup`<td>${cell}</td>`)}</tr>\n`;
}

const list = (facts: readonly Fact[], more?: Markup): Markup =>
  markup`<dl>${facts.map(({ label, texts }) => markup`<dt>${label}</dt>${texts.map((text) => markup`<dd>${value(text, longest)}</dd>`)}\n`)}${more}</dl>\n`;

/** Commands, each on a line of its own that breaks between words only, with its note. */
const commandsOf = (ways: readonly Way[]): Markup =>
  markup`<dt>Commands</dt>${ways.map(
    ({ argv, note }) =>
      markup`<dd><code>${argv.map((word) => markup`<span>${commandLine([word])}</span> `)}</code>${note === undefined ? "" : paragraph("quiet", note)}</dd>\n`,
  )}`;

function section(each: Section, number: number, drawing: Markup | undefined): Markup {
  const { vault, verdict, name, find, facts, ways, evidence, tables, timeline } = each;
  const left = Math.max(0, (timeline?.rows.length ?? 0) - maxEvents);
  const events = timeline && { ...timeline, rows: timeline.rows.slice(left) };
  return markup`<article id="vault-${number}" aria-labelledby="name-${number}" data-find="${find}">
    <h2 id="name-${number}"><b class="${vault.verdict}">${verdict}</b> ${value(name)}</h2>
    ${list(facts, ways.length === 0 ? undefined : commandsOf(ways))}${drawing}${list(evidence)}${tables.map(table)}${
      events &&
      markup`<details><summary>All events</summary>
    ${left > 0 ? paragraph("quiet", `${left} earlier events are not listed.`) : ""}${table(events)}</details>`
    }
    </article>
    `;
}
