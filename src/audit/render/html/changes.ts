import type { ReenactmentReport, WhatIfReport } from "../../../documents/audit.ts";
import { grouped } from "../../../terminal/count.ts";
import type { Comparison } from "../outline/changes.ts";
import { reenactmentOutline, whatIfOutline } from "../outline/changes.ts";
import type { Line } from "../outline/line.ts";
import type { Head } from "./parts.ts";
import { cells, table, unbroken, written } from "./parts.ts";
import type { Markup } from "./text.ts";
import { html, inline } from "./text.ts";

const most = 300;

const more = (count: number): Markup | string =>
  count > most ? html`<p>and ${grouped(count - most)} more, not shown</p>` : "";

/** Renders the vaults for which a hypothetical change makes a difference. */
export const whatIfSection = (report: WhatIfReport): Markup =>
  section("what-if", "What if", whatIfOutline(report));

/** Renders the comparison with the emulated service. */
export const reenactmentSection = (report: ReenactmentReport): Markup =>
  section("reenacted", "Differences", reenactmentOutline(report));

function section(
  id: string,
  name: string,
  { title, result, notes, heads, rows, total, missing }: Comparison,
): Markup {
  const columns = heads.map((head): Head => [head]);
  const listed = rows
    .slice(0, most)
    .map(
      ({ uuid, cells: contents }) =>
        inline`<tr>${cells(columns, [unbroken(uuid), ...contents.map(cell)])}</tr>\n`,
    );
  const others = missing
    .slice(0, most)
    .map(({ uuid, reason }) => html`<li>${unbroken(uuid)}: ${written(reason)}</li>`);
  return html`<section aria-labelledby="${id}">
    <h2 id="${id}">${written(title)}</h2>
    <p class="found">${result.words}${result.others}.</p>
    ${notes.map((note) => html`<p>${written(note)}</p>`)}
    ${listed.length === 0 ? "" : table(name, columns, listed)}${more(total)}
    ${
      others.length === 0
        ? ""
        : html`<h3>Could not be re-enacted</h3>
            <ul>
              ${others}
            </ul>
            ${more(missing.length)}`
    }
  </section> `;
}

/** Renders the lines of a cell, each but the first as a paragraph. */
const cell = ([first = [], ...others]: readonly Line[]): Markup =>
  html`${written(first)}${others.map((line) => html`<p>${written(line)}</p>`)}`;
