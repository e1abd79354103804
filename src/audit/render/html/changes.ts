import type { Markup } from "./text.ts";
import { html, inline, time, value } from "./text.ts";
import type { Head } from "./parts.ts";
import { badge, cells, sentence, table, unbroken } from "./parts.ts";
import { counted, grouped } from "../../../terminal/count.ts";
import type { ReenactmentReport, VaultReport, WhatIfReport } from "../../../documents/audit.ts";

const most = 300;

const more = (count: number): Markup | string =>
  count > most ? html`<p>and ${grouped(count - most)} more, not shown</p>` : "";

const whatIfHeads: readonly Head[] = [["Vault"], ["Now"], ["What if"]];
const differenceHeads: readonly Head[] = [["Vault"], ["Replay"], ["Sandbox"], ["From"], ["Why"]];

/** Renders the vaults for which a hypothetical change makes a difference. */
export function whatIfSection({
  change,
  vaults,
  unchanged,
  moreChanged,
  notes,
}: WhatIfReport): Markup {
  const rows = vaults
    .slice(0, most)
    .map(
      ({ uuid, before, after }) =>
        inline`<tr>${cells(whatIfHeads, [unbroken(uuid), standing(before), standing(after)])}</tr>\n`,
    );
  const listed = rows.length === 0 ? "" : table("What if", whatIfHeads, rows);
  return html`<section aria-labelledby="what-if">
    <h2 id="what-if">What if ${value(change)}</h2>
    <p>
      ${counted(vaults.length + moreChanged, "vault")} would differ, ${grouped(unchanged)} would
      not.
    </p>
    ${notes.map((note) => html`<p>${sentence(note)}</p>`)}
    ${listed}${more(vaults.length + moreChanged)}
  </section> `;
}

function standing({ verdict, since, unackedStarts, failedAttempts, cause }: VaultReport): Markup {
  const counts = `${counted(unackedStarts, "unacknowledged start")}, ${counted(failedAttempts, "failed attempt")} in a row`;
  return html`${badge(verdict)}${since === undefined ? "" : html` since ${time(since)}`}
    <p>${counts}</p>
    ${cause === undefined ? "" : html`<p>${sentence(cause.text)}</p>`}`;
}

/** Renders the comparison with the emulated service. */
export function reenactmentSection({
  vaults,
  agree,
  differences,
  notPerformed,
}: ReenactmentReport): Markup {
  const rows = differences.slice(0, most).map(({ uuid, replayed, emulated, at, line, text }) => {
    const from = html`${at === undefined ? "" : time(at)}${line === undefined ? "" : ` line ${line}`}`;
    const contents = [
      unbroken(uuid),
      value(replayed, 40),
      value(emulated, 40),
      from,
      sentence(text),
    ];
    return inline`<tr>${cells(differenceHeads, contents)}</tr>\n`;
  });
  const listed = rows.length === 0 ? "" : table("Differences", differenceHeads, rows);
  const missing = notPerformed
    .slice(0, most)
    .map(({ uuid, reason }) => html`<li>${unbroken(uuid)}: ${sentence(reason)}</li>`);
  return html`<section aria-labelledby="reenacted">
    <h2 id="reenacted">Re-enacted in the sandbox</h2>
    <p>
      ${grouped(agree)} of ${counted(vaults, "vault")} ended in the same state;
      ${differences.length === 0 ? "none" : grouped(differences.length)} did not.
    </p>
    ${listed}${more(differences.length)}
    ${
      missing.length === 0
        ? ""
        : html`<h3>Could not be re-enacted</h3>
            <ul>
              ${missing}
            </ul>
            ${more(notPerformed.length)}`
    }
  </section> `;
}
