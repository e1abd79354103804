import type { ReplaySummary, Rules, VaultReport, WhatIfReport } from "../../../documents/audit.ts";
import { counted, grouped } from "../../../terminal/count.ts";
import { occurrences } from "../../report/found.ts";
import type { Verdict } from "../../report/severity.ts";
import type { Basis } from "../summary.ts";
import { whatIfOutline, answerOf, basisOf } from "../summary.ts";
import type { Few, Line } from "../words.ts";
import { few, counters, ruleWords, verdictWords } from "../words.ts";
import type { Head, Markup } from "./parts.ts";
import {
  badge,
  cells,
  filterData,
  table,
  unbroken,
  vaultName,
  written,
  html,
  inline,
  time,
  value,
} from "./parts.ts";

/** Renders the warning that some items were not understood, if any. */
export function warningOf(summary: ReplaySummary): Markup {
  const { warning } = answerOf(summary);
  return warning === undefined ? html`` : html`<p class="warning">${written(warning)}</p>`;
}

/** Renders what was found: the answer, who caused how many problems, counts and notes. */
export function summarySection(summary: ReplaySummary): Markup {
  const { items, asOf } = summary;
  const { found, origins, vaults, counts } = answerOf(summary);
  const notes = few(basisOf(summary).notes, 50).shown;
  const tiles = counts.map(
    ({ verdict, count }) =>
      html`<div class="tile ${verdict}${count === 0 ? " none" : ""}">
        <dt>${verdictWords[verdict]}</dt>
        <dd>${grouped(count)}</dd>
      </div>`,
  );
  return html`<section aria-labelledby="summary">
    <h2 id="summary">Summary</h2>
    <p class="found">${written(found)}</p>
    ${originList(origins)}
    <p>
      ${counted(items, "item")} of ${vaults}${asOf === null ? "" : html`, as of ${time(asOf)}`}. All
      times are in UTC.
    </p>
    <dl class="tiles">${tiles}</dl>
    ${
      notes.length === 0
        ? ""
        : html`<ul class="notes">
            ${notes.map((note) => html`<li>${written(note)}</li>`)}
          </ul>`
    }
  </section> `;
}

/** Renders the basis of the report: rules, inputs with their column mapping, and what was left out. */
export function basisSection(summary: ReplaySummary): Markup {
  const { rules, inputs, left, skipped, actions } = basisOf(summary);
  return html`<section aria-labelledby="basis">
    <h2 id="basis">Rules and inputs</h2>
    <div class="columns">
      <section aria-labelledby="rules">
        <h3 id="rules">Rules</h3>
        <ul>
          ${rules.map((line) => html`<li>${written(line)}</li>`)}
        </ul>
      </section>
      ${
        left.length === 0
          ? ""
          : html`<section aria-labelledby="left-out">
              <h3 id="left-out">Left out</h3>
              <ul>
                ${left.map((line) => html`<li>${line}</li>`)}
              </ul>
            </section>`
      }
    </div>
    ${inputTable(inputs)} ${skippedLines(skipped)} ${unknownActions(actions)}
  </section> `;
}

/** Renders who caused how many problems, if that is more than the answer says. */
function originList({ shown, more }: Few<Line>): Markup | string {
  if (shown.length === 0) return "";
  const others = more > 0 ? html`<li>and ${counted(more, "more origin")}</li>` : "";
  return html`<ul class="tally">
    ${shown.map((line) => html`<li>${written(line)}</li>`)}${others}
  </ul>`;
}

const maxInputs = 50;
const inputHeads: readonly Head[] = [["Input"], ["Format"], ["Items"], ["Columns"]];

/** Renders the inputs with the roles of their columns. */
function inputTable(inputs: Basis["inputs"]): Markup {
  const { shown, more } = few(inputs, maxInputs);
  const rows = shown.map(({ name: input, format, items, columns }) => {
    const mapping = Object.entries(columns).map(([role, { name, by }], index) => {
      const why = { name: "", value: ", by its values", "--map": ", by --map" }[by];
      return html`${index === 0 ? "" : "; "}${role}: ${value(name, 80)}${why}`;
    });
    const contents = [value(input, 80), format, grouped(items), html`${mapping}`];
    return inline`<tr>${cells(inputHeads, contents)}</tr>\n`;
  });
  return html`<h3>Inputs</h3>
    ${table("Inputs", inputHeads, rows)} ${more > 0 ? html`<p>and ${more} more</p>` : ""}`;
}

function skippedLines({ words, lines, count }: Basis["skipped"]): Markup | string {
  if (count === 0) return "";
  const rows = few(lines, 100).shown.map((line) => html`<li>${written(line)}</li>`);
  const more = count - rows.length;
  return html`<details>
    <summary>${words}</summary>
    <ul>
      ${rows}${more > 0 ? html`<li>and ${grouped(more)} more</li>` : ""}
    </ul>
  </details>`;
}

function unknownActions(actions: Basis["actions"]): Markup | string {
  if (actions.length === 0) return "";
  const rows = few(actions, 50).shown.map(
    (action) => html`<li>${value(action.value, 80)} ${occurrences(action)}</li>`,
  );
  return html`<details>
    <summary>${counted(actions.length, "unknown action")}</summary>
    <ul>
      ${rows}
    </ul>
  </details>`;
}

/** Renders the row of a vault, with a link to its section, if it has one. */
export function vaultRow(vault: VaultReport, rules: Rules, id: string | undefined): Markup {
  const { starts, failed } = counters(vault, rules);
  const { cause, since, verdict, certainty } = vault;
  const name =
    id === undefined ? vaultName(vault) : html`<a href="#vault-${id}">${vaultName(vault)}</a>`;
  const rest = [
    badge(verdict),
    since === undefined ? "" : time(since),
    cause === undefined ? "" : ruleWords[cause.rule],
    certainty,
  ];
  return inline`<tr ${filterData(vault)}>${cells(heads, [name, ...rest, starts, failed])}</tr>\n`;
}

export const heads: readonly Head[] = [
  ["Vault"],
  ["Verdict"],
  ["Since"],
  ["Rule"],
  ["Confidence"],
  ["Unacked", "unacknowledged starts in a row"],
  ["Failures", "failed attempts in a row"],
];

/** Renders the filter, which is hidden until the script shows it. */
export function filterControls(verdicts: readonly Verdict[]): Markup {
  const boxes = verdicts.map(
    (verdict) =>
      html`<label class="check"
        ><input type="checkbox" name="verdict" value="${verdict}" checked />
        ${verdictWords[verdict]}</label
      >`,
  );
  return html`<div id="filter" role="search" aria-label="Filter the vaults" hidden>
    <label
      >Vault, label, address or reference
      <input type="search" id="find" autocomplete="off" spellcheck="false"
    /></label>
    <fieldset>
      <legend>Verdict</legend>
      ${boxes}
    </fieldset>
    <label>Since, from (UTC) <input type="datetime-local" id="from" step="1" /></label>
    <label>Since, to (UTC) <input type="datetime-local" id="to" step="1" /></label>
    <button type="button" id="reset">Show all</button>
  </div> `;
}

const most = 300;

const more = (count: number): Markup | string =>
  count > most ? html`<p>and ${grouped(count - most)} more, not shown</p>` : "";

/** Renders the vaults for which a hypothetical change makes a difference. */
export function whatIfSection(report: WhatIfReport): Markup {
  const { title, result, heads, rows, total } = whatIfOutline(report);
  const columns = heads.map((head): Head => [head]);
  const listed = rows
    .slice(0, most)
    .map(
      ({ uuid, cells: contents }) =>
        inline`<tr>${cells(columns, [unbroken(uuid), ...contents.map(cell)])}</tr>\n`,
    );
  return html`<section aria-labelledby="what-if">
    <h2 id="what-if">${written(title)}</h2>
    <p class="found">${result.words}${result.others}.</p>
    ${listed.length === 0 ? "" : table("What if", columns, listed)}${more(total)}
  </section> `;
}

/** Renders the lines of a cell, each but the first as a paragraph. */
const cell = ([first = [], ...others]: readonly Line[]): Markup =>
  html`${written(first)}${others.map((line) => html`<p>${written(line)}</p>`)}`;
