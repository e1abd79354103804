import type { Markup } from "./text.ts";
import { html, inline, time, value } from "./text.ts";
import type { Head } from "./parts.ts";
import { cells, sentence, table } from "./parts.ts";
import { originWords } from "../../report/origin-words.ts";
import { countsOf, formatOf, leftOut, ruleLines, verdictWords } from "../words.ts";
import { counted, grouped } from "../../../terminal/count.ts";
import type { InputReport, Origin, ReplaySummary } from "../../../documents/audit.ts";

/** Renders what was found: the answer, who caused how many problems, counts and notes. */
export function summarySection(summary: ReplaySummary): Markup {
  const { found, items, asOf, vaultCount, notes } = summary;
  const tiles = countsOf(summary).map(
    ({ verdict, count }) =>
      html`<div class="tile ${verdict}${count === 0 ? " none" : ""}">
        <dt>${verdictWords[verdict]}</dt>
        <dd>${grouped(count)}</dd>
      </div>`,
  );
  return html`<section aria-labelledby="summary">
    <h2 id="summary">Summary</h2>
    <p class="found">${sentence(found.text)}</p>
    ${origins(found.by)}
    <p>
      ${counted(items, "item")} of
      ${counted(vaultCount, "vault")}${asOf === null ? "" : html`, as of ${time(asOf)}`}. All times
      are in UTC.
    </p>
    <dl class="tiles">${tiles}</dl>
    ${
      notes.length === 0
        ? ""
        : html`<ul class="notes">
            ${notes.slice(0, 50).map((note) => html`<li>${sentence(note)}</li>`)}
          </ul>`
    }
  </section> `;
}

/** Renders the basis of the report: rules, inputs with their column mapping, and what was left out. */
export function basisSection(summary: ReplaySummary): Markup {
  const left = leftOut(summary);
  return html`<section aria-labelledby="basis">
    <h2 id="basis">Rules and inputs</h2>
    <div class="columns">
      <section aria-labelledby="rules">
        <h3 id="rules">Rules</h3>
        <ul>
          ${ruleLines(summary.rules).map((line) => html`<li>${sentence(line)}</li>`)}
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
    ${inputs(summary.inputs)} ${skipped(summary)} ${otherActions(summary)}
  </section> `;
}

const maxOrigins = 10;

/** Renders who caused how many problems, if that is more than the answer says. */
function origins(by: readonly Origin[]): Markup | string {
  if (by.length < 2) return "";
  const rows = by
    .slice(0, maxOrigins)
    .map(
      (origin) => html`<li>${counted(origin.vaults, "vault")}: ${value(originWords(origin))}</li>`,
    );
  const more =
    by.length > maxOrigins
      ? html`<li>and ${counted(by.length - maxOrigins, "more origin")}</li>`
      : "";
  return html`<ul class="tally">
    ${rows}${more}
  </ul>`;
}

const maxInputs = 50;
const inputHeads: readonly Head[] = [["Input"], ["Format"], ["Items"], ["Column mapping"]];

/** Renders the inputs with the roles of their columns. */
function inputs(all: readonly InputReport[]): Markup {
  const rows = all.slice(0, maxInputs).map((input) => {
    const columns = Object.entries(input.columns).map(([role, { name, by }], index) => {
      const why = { name: "", value: ", by its values", "--map": ", by --map" }[by];
      return html`${index === 0 ? "" : "; "}${role}: ${value(name, 80)}${why}`;
    });
    const contents = [
      value(input.name, 80),
      formatOf(input),
      grouped(input.items),
      html`${columns}`,
    ];
    return inline`<tr>${cells(inputHeads, contents)}</tr>\n`;
  });
  const more = all.length > maxInputs ? html`<p>and ${all.length - maxInputs} more</p>` : "";
  return html`<h3>Inputs</h3>
    ${table("Inputs", inputHeads, rows)} ${more}`;
}

const maxSkipped = 100;

function skipped({ skipped, skippedLines }: ReplaySummary): Markup | string {
  if (skippedLines === 0) return "";
  const rows = skipped
    .slice(0, maxSkipped)
    .map(
      ({ input, line, reason }) =>
        html`<li>${value(input, 80)}, line ${line}: ${value(reason)}</li>`,
    );
  const more = skippedLines - rows.length;
  return html`<details>
    <summary>
      ${counted(skippedLines, "line that is not an item", "lines that are not items")}
    </summary>
    <ul>
      ${rows}${more > 0 ? html`<li>and ${grouped(more)} more</li>` : ""}
    </ul>
  </details>`;
}

function otherActions({ otherActions }: ReplaySummary): Markup | string {
  if (otherActions.length === 0) return "";
  const rows = otherActions
    .slice(0, 50)
    .map(({ value: action, count }) => html`<li>${value(action, 80)} × ${grouped(count)}</li>`);
  return html`<details>
    <summary>${counted(otherActions.length, "unknown action")}</summary>
    <ul>
      ${rows}
    </ul>
  </details>`;
}
