import { createHash } from "node:crypto";
import { needsOf } from "../summary.ts";
import { counted, grouped } from "../../../terminal/count.ts";
import {
  whatIfSection,
  basisSection,
  summarySection,
  warningOf,
  filterControls,
  heads,
  vaultRow,
} from "./summary.ts";
import { legendOf } from "./lanes.ts";
import { tableEnd, tableStart, clip, html, time, value } from "./parts.ts";
import { style } from "./style.ts";
import type { Markup } from "./parts.ts";
import { vaultSection } from "./vault.ts";
import type { ReplaySummary, VaultReport, WhatIfReport } from "../../../documents/audit.ts";
import { cutWords } from "../../report/found.ts";
import { isProblem } from "../../report/severity.ts";
import type { Verdict } from "../../report/severity.ts";

/** The script of the page: it shows the filter, hides rows and sections that do not match, and copies commands. */
const script = `"use strict";
{
  const one = (id) => document.getElementById(id);
  const [filter, find, from, to, shown, none] = ["filter", "find", "from", "to", "shown", "none"].map(one);
  const boxes = [...document.querySelectorAll("input[name=verdict]")];
  const rows = [...document.querySelectorAll("tr[data-find]")];
  const all = [...rows, ...document.querySelectorAll("article[data-find]")];
  const folds = document.querySelectorAll("details.fine");
  // What is typed into a field of date and time is meant in UTC, like all times of the page.
  const moment = (field, otherwise) => (field.value === "" ? otherwise : Date.parse(field.value + "Z"));
  const apply = () => {
    const words = find.value.toLowerCase().split(/\\s+/).filter((word) => word !== "");
    const verdicts = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const [first, last] = [moment(from, -Infinity), moment(to, Infinity)];
    const anyTime = first === -Infinity && last === Infinity;
    const matches = ({ dataset }) => {
      const at = Date.parse(dataset.at);
      return verdicts.has(dataset.verdict) && words.every((word) => dataset.find.includes(word)) && (anyTime || (at >= first && at <= last));
    };
    for (const each of all) each.hidden = !matches(each);
    for (const each of folds) {
      each.hidden = each.querySelector("[data-find]:not([hidden])") === null;
      // What is looked for is shown.
      if (words.length > 0 || !anyTime) each.open = true;
    }
    const count = rows.filter((row) => !row.hidden).length;
    shown.textContent = count + " of " + rows.length + (rows.length === 1 ? " vault" : " vaults") + " shown";
    none.hidden = count > 0;
  };
  const reset = () => {
    for (const field of [find, from, to]) field.value = "";
    for (const box of boxes) box.checked = true;
    apply();
    find.focus();
  };
  for (const button of document.querySelectorAll(".copy")) {
    const code = button.previousElementSibling;
    button.hidden = false;
    button.addEventListener("click", () => {
      getSelection().selectAllChildren(code);
      navigator.clipboard?.writeText(code.textContent).then(() => (button.textContent = "Copied"), () => {});
    });
  }
  // Where there is no room for a drawing, the list of its events takes its place.
  if (matchMedia("(max-width: 45rem)").matches) for (const each of document.querySelectorAll("article details")) each.open = true;
  if (rows.length > 0) {
    filter.hidden = false;
    filter.addEventListener("input", apply);
    one("reset").addEventListener("click", reset);
    // What the browser kept of an earlier visit.
    apply();
  }
}
`;

/** Maximum number of vaults with a section of their own, and of rows in the table. */
export const maxSections = 300;
export const maxRows = 5000;

/** Contents of a page. Every text may be hostile. */
export interface HtmlParts {
  title: string;
  /** ISO 8601. */
  generatedAt: string;
  summary: ReplaySummary;
  /** Worst first; read only as far as they are shown. The first `maxSections` have timelines. */
  vaults: Iterable<VaultReport>;
  whatIf?: WhatIfReport;
}

/**
 * Yields a self-contained page in pieces, so that memory holds only the vaults with sections. The page loads nothing and runs only its own
 * script: its policy allows that script and its style by their hashes.
 */
export function* writeHtml(parts: HtmlParts): Generator<string, void, undefined> {
  const { summary, vaults, whatIf } = parts;
  yield `<!doctype html>\n<html lang="en">\n<head>\n${head(parts).markup}</head>\n<body>\n${header(parts).markup}<main>\n`;
  yield warningOf(summary).markup;
  if (whatIf !== undefined) yield whatIfSection(whatIf).markup;
  yield summarySection(summary).markup;
  const described: VaultReport[] = [];
  const rows: Record<"problems" | "fine", string[]> = { problems: [], fine: [] };
  const verdicts = new Set<Verdict>();
  for (const vault of vaults) {
    const id = described.length < maxSections ? String(described.length + 1) : undefined;
    if (id !== undefined) described.push(vault);
    rows[isProblem(vault.verdict) ? "problems" : "fine"].push(
      vaultRow(vault, summary.rules, id).markup,
    );
    verdicts.add(vault.verdict);
    if (rows.problems.length + rows.fine.length === maxRows) break;
  }
  const [problems, fine] = [rows.problems.length, rows.fine.length];
  const { others } = needsOf(summary);
  yield `<section aria-labelledby="vaults">\n${tableHead(summary, { problems, fine, described: described.length }, [...verdicts]).markup}`;
  yield* tableOf("Vaults", rows.problems);
  if (fine > 0) yield* folded(others, tableOf("Vaults that need no action", rows.fine));
  yield "</section>\n";
  if (described.length > 0) {
    yield `<section aria-labelledby="sections">\n${sectionsHead().markup}`;
    const sections = described.map((vault, index) => ({ vault, id: String(index + 1) }));
    const written = (of: typeof sections): string[] =>
      of.map(
        ({ vault, id }) =>
          vaultSection(vault, { rules: summary.rules, asOf: summary.asOf, id }).markup,
      );
    yield* written(sections.slice(0, problems));
    const rest = sections.slice(problems);
    if (rest.length > 0) yield* folded(others, written(rest));
    yield "</section>\n";
  }
  yield basisSection(summary).markup;
  yield `</main>\n${footer.markup}<script>${script}</script>\n</body>\n</html>\n`;
}

function* tableOf(name: string, rows: readonly string[]): Generator<string, void, undefined> {
  if (rows.length === 0) return;
  yield tableStart(name, heads, "vaults").markup;
  yield* rows;
  yield tableEnd.markup;
}

/** Yields what is about some of the `count` vaults that need no action, collapsed. */
function* folded(count: number, contents: Iterable<string>): Generator<string, void, undefined> {
  yield `<details class="fine"><summary>${counted(count, "vault needs", "vaults need")} no action</summary>\n`;
  yield* contents;
  yield "</details>\n";
}

const hash = (text: string): string =>
  `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

function head({ title }: HtmlParts): Markup {
  const policy = `default-src 'none'; style-src ${hash(style)}; script-src ${hash(script)}; img-src 'none'; base-uri 'none'; form-action 'none'`;
  return html`<meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <meta name="referrer" content="no-referrer" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${clip(title, 200)}</title>
    ${{ markup: `<style>${style}</style>\n` }}`;
}

const header = ({ title, generatedAt }: HtmlParts): Markup =>
  html`<a class="skip" href="#vaults">Skip to the vaults</a>
    <header>
      <h1>${value(title)}</h1>
      <p class="quiet">Generated ${time(generatedAt)} UTC</p>
    </header> `;

const footer = html`<footer>
  <p>Generated by vault audit-replay. This page is self-contained.</p>
</footer> `;

const sectionsHead = (): Markup =>
  html`<h2 id="sections">Details</h2>
    ${legendOf()}
    <p class="quiet scale">
      The time scale is logarithmic; a break in the axis marks a long pause.
    </p> `;

/** Says why there are no vaults to list. */
function noVaults({ selected, inputs }: ReplaySummary): string {
  if (selected?.vaults === 0) return "No vault was selected.";
  return cutWords(inputs) === undefined ? "All vaults are fine." : "No lock is known.";
}

/** Renders the head of the table, with notes on what it does not list, and the filter. */
function tableHead(
  summary: ReplaySummary,
  { problems, fine, described }: Record<"problems" | "fine" | "described", number>,
  verdicts: readonly Verdict[],
): Markup {
  const rows = problems + fine;
  const all = needsOf(summary);
  const left = all.problems - problems;
  // With --problems there are none to list.
  const others = fine === 0 ? 0 : all.others - fine;
  const notes = [
    ...(left > 0
      ? [
          `${counted(left, "more vault needs", "more vaults need")} action; vault audit-replay --json lists all.`,
        ]
      : []),
    ...(others > 0
      ? [
          `${counted(others, "more vault needs", "more vaults need")} no action; vault audit-replay --json lists all.`,
        ]
      : []),
    ...(rows > described
      ? [
          `The first ${grouped(described)}, worst first, have details below; the others only a row here.`,
        ]
      : []),
  ];
  return html`<h2 id="vaults" tabindex="-1">Vaults</h2>
    ${rows === 0 ? html`<p>${noVaults(summary)}</p>` : filterControls(verdicts)}
    ${notes.map((note) => html`<p class="quiet">${note}</p>`)}
    <p id="shown" role="status" aria-live="polite">${rows === 0 ? "" : counted(rows, "vault")}</p>
    <p id="none" hidden>No vault matches the filter.</p> `;
}
