import type { Drawing } from "./timeline.ts";
import type { Markup } from "./text.ts";
import { html, inline, time, value } from "./text.ts";
import type { Head } from "./parts.ts";
import { cells, own, itemLocation, sentence, table } from "./parts.ts";
import { distancesOf, isSame } from "../model.ts";
import { contradictionWords, eventWords, span, stateWords } from "../words.ts";
import { counted } from "../../../terminal/count.ts";
import type {
  Contradiction,
  ItemReference,
  TimelineEvent,
  VaultReport,
} from "../../../documents/audit.ts";

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
  const all = vault.timeline ?? [];
  const events = all.slice(-maxRows);
  const omitted = all.length - events.length + (vault.timelineOmitted ?? 0);
  const distances = distancesOf(events.map(({ item }) => Date.parse(item.at)));
  const rows = events.map((event, index) => {
    const { item, isCause, locks, state } = event;
    const before = distances[index - 1];
    const distance = before === undefined ? "" : `+${span(before.milliseconds)}`;
    const mark = locks
      ? html` <strong class="locks">locked the vault</strong>`
      : isCause
        ? html` <strong>cause</strong>`
        : "";
    const contents = [
      time(item.at),
      distance,
      inline`${eventWords[item.event]}${mark}${notes(event, vault.contradictions)}`,
      who(item),
      `${event.unackedStarts}/${rules.limits.unackedStarts}`,
      `${event.failedAttempts}/${rules.limits.failedAttempts}`,
      stateWords[state],
    ];
    return inline`<tr${isCause ? inline` class="cause"` : ""}>${cells(heads, contents)}</tr>\n`;
  });
  const earlier =
    omitted > 0
      ? html`<p>${counted(omitted, "earlier event is", "earlier events are")} not listed.</p>`
      : "";
  return html`<details>
    <summary>${counted(events.length, "event")} in a table</summary>
    ${earlier} ${table("Events", heads, rows, "events")}
  </details>`;
}

function notes({ item }: TimelineEvent, contradictions: readonly Contradiction[]): Markup {
  const concerning = contradictions.filter((each) => isSame(each.item, item));
  const description =
    item.description === undefined ? "" : html`<p>“${value(item.description)}”</p>`;
  const action =
    item.event === "other" || item.event === "application"
      ? html`<p>${value(item.action, 80)}</p>`
      : "";
  return html`${action}${description}${concerning.map(({ kind, text }) => html`<p class="odd"><strong>${contradictionWords[kind]}</strong>: ${sentence(text)}</p>`)}`;
}

function who(item: ItemReference): Markup {
  const lines = [
    [item.address, item.externalRef],
    [item.endpoint, item.application],
  ].map((texts) =>
    texts
      .filter((text) => text !== undefined)
      .map((text, index) => html`${index === 0 ? "" : ", "}${value(text)}`),
  );
  const mine = own(item);
  const filled = [...lines, mine === "" ? [] : [mine]].filter((line) => line.length > 0);
  return html`${filled.map((line) => html`<p>${line}</p>`)}
    <p>${itemLocation(item)}</p>`;
}
