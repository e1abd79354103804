import type { VaultReport } from "../../../documents/audit.ts";
import { counted } from "../../../terminal/count.ts";
import type { Told } from "../outline/events.ts";
import { eventsOf } from "../outline/events.ts";
import type { Head } from "./parts.ts";
import { cells, itemLocation, sentence, table, written } from "./parts.ts";
import type { Markup } from "./text.ts";
import { html, inline, time, value } from "./text.ts";
import type { Drawing } from "./timeline.ts";

/** Maximum number of rows for a vault. */
const maxRows = 100;

const heads: readonly Head[] = [
  ["Time (UTC)"],
  ["After"],
  ["Event"],
  ["Who"],
  ["Unacked", "unacknowledged starts in a row"],
  ["Failures", "failed attempts in a row"],
  ["State"],
];

/** Renders the events of a timeline as a collapsed table. */
export function eventTable(vault: VaultReport, { rules }: Drawing): Markup {
  const { told } = eventsOf(vault, rules, maxRows);
  const omitted = (vault.timeline ?? []).length - told.length + (vault.timelineOmitted ?? 0);
  const rows = told.map((each) => {
    const { event, words, after, counters, state } = each;
    const mark = event.locks
      ? html` <strong class="locks">locked the vault</strong>`
      : event.isCause
        ? html` <strong>cause</strong>`
        : "";
    const contents = [
      time(event.item.at),
      after === undefined ? "" : `+${after.words}`,
      inline`${words}${mark}${notes(each)}`,
      who(each),
      counters.starts,
      counters.failed,
      state,
    ];
    return inline`<tr${event.isCause ? inline` class="cause"` : ""}>${cells(heads, contents)}</tr>\n`;
  });
  const earlier =
    omitted > 0
      ? html`<p>${counted(omitted, "earlier event is", "earlier events are")} not listed.</p>`
      : "";
  return html`<details>
    <summary>${counted(told.length, "event")} in a table</summary>
    ${earlier} ${table("Events", heads, rows, "events")}
  </details>`;
}

function notes({ event: { item }, action, contradictions }: Told): Markup {
  const { description } = item;
  return html`${action === undefined ? "" : html`<p>${value(action, 80)}</p>`}${description === undefined ? "" : html`<p>“${value(description)}”</p>`}${contradictions.map(({ words, text }) => html`<p class="odd"><strong>${words}</strong>: ${sentence(text)}</p>`)}`;
}

function who({ event: { item }, own }: Told): Markup {
  const { address, externalRef, endpoint, application } = item;
  const lines = [
    [address, externalRef],
    [endpoint, application],
  ].map((texts) =>
    texts
      .filter((text) => text !== undefined)
      .map((text, index) => html`${index === 0 ? "" : ", "}${value(text)}`),
  );
  const filled = [...lines, own === undefined ? [] : [written(own)]].filter(
    (line) => line.length > 0,
  );
  return html`${filled.map((line) => html`<p>${line}</p>`)}
    <p>${itemLocation(item)}</p>`;
}
