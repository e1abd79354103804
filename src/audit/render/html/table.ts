import type { Markup } from "./text.ts";
import { html, inline, time } from "./text.ts";
import type { Head } from "./parts.ts";
import { badge, cells, filterData, vaultName } from "./parts.ts";
import { counters, ruleWords, verdictWords } from "../words.ts";
import type { Rules, VaultReport } from "../../../documents/audit.ts";
import type { Verdict } from "../../report/severity.ts";

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
