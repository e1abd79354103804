import type { Tally, VaultReport } from "../../../documents/audit.ts";
import { counted } from "../../../terminal/count.ts";
import type { Told, FactName, OriginName, Step, VaultBlock } from "../vault.ts";
import { eventsOf, outlineOf } from "../vault.ts";
import { few, shortened } from "../words.ts";
import type { Head, Markup } from "./parts.ts";
import {
  badge,
  cells,
  filterData,
  html,
  inline,
  instruction,
  itemLocation,
  sentence,
  table,
  time,
  value,
  vaultName,
  written,
} from "./parts.ts";
import type { Drawing } from "./timeline.ts";
import { maxDrawn, timelineOf } from "./timeline.ts";

/** Renders the section of a vault: the cause and the advice, then the facts side by side, then lists and drawing. */
export function vaultSection(vault: VaultReport, drawing: Drawing): Markup {
  const { since, verdict, timeline = [] } = vault;
  const blocks = outlineOf(vault, drawing.rules);
  const render = (...kinds: VaultBlock["kind"][]): Markup[] =>
    blocks.filter(({ kind }) => kinds.includes(kind)).map(blockMarkup);
  return html`<article
    class="vault"
    id="vault-${drawing.id}"
    aria-labelledby="name-${drawing.id}"
    ${filterData(vault)}
  >
    <h3 id="name-${drawing.id}">${vaultName(vault)}</h3>
    <p class="standing">
      ${badge(verdict)}${since === undefined ? "" : html` since ${time(since)}`}
      <span class="sure">${vault.certainty}</span>
    </p>
    ${render("cause")}
    <div class="advice">${render("advice")}</div>
    <dl class="facts">${render("fact", "confidence", "origin", "exchanges")}</dl>
    ${render("steps", "contradictions")} ${timeline.length === 0 ? "" : figure(vault, drawing)}
  </article> `;
}

const factLabels: Record<FactName, string> = {
  refused: "Refused credentials",
  rule: "Rule",
  open: "Open",
  counters: "Counters",
  items: "Items",
};

const originLabels: Record<OriginName, string> = {
  addresses: "Addresses",
  externalRefs: "References",
  endpoints: "Endpoints",
  applications: "Applications",
};

function blockMarkup(block: VaultBlock): Markup {
  switch (block.kind) {
    case "cause":
      return html`<p class="cause">${written(block.line)}</p>`;
    case "fact":
      return fact(factLabels[block.name], written(block.line));
    case "confidence":
      return block.isRepeated ? html`` : fact("Why", written(block.line));
    case "steps":
      return chain(block);
    case "origin":
      return fact(originLabels[block.name], tally(block.values));
    case "exchanges":
      return fact(
        "This machine",
        html`${block.lines.map((line) => html`<p>${written(line)}</p>`)}`,
      );
    case "contradictions":
      return contradictions(block);
    case "advice":
      return html`<div>
        <h4>${block.to === "support" ? "For support" : "For the developer of the client"}</h4>
        <p>${instruction(block.text)}</p>
      </div>`;
    case "commands":
      // Each is beside its button in the advice.
      return html``;
  }
}

const fact = (label: string, content: Markup): Markup =>
  html`<dt>${label}</dt>
    <dd>${content}</dd>`;

function tally(values: readonly Tally[]): Markup {
  const { shown, more } = few(values, 5);
  const entries = shown.map(
    ({ value: text, count }) => html`<li>${value(text)}${count > 1 ? ` × ${count}` : ""}</li>`,
  );
  return html`<ul class="tally">
    ${entries}${more > 0 ? html`<li>and ${more} more</li>` : ""}
  </ul>`;
}

function chain({ replaced, steps }: Extract<VaultBlock, { kind: "steps" }>): Markup {
  const told = ({ item, event, who }: Step): Markup =>
    html`${time(item.at)} ${event}${who === undefined ? "" : html` — ${value(who)}`}
    ${itemLocation(item)}`;
  const entry = (step: Step): Markup => {
    const words = told(step);
    const { locks } = step;
    return locks
      ? html`<li class="locks">${words} <strong>This locked the vault.</strong></li>`
      : html`<li>${words}</li>`;
  };
  const entries = shortened(
    steps.map(entry),
    (left) => html`<li class="more">… ${left} more …</li>`,
  );
  const before =
    replaced === undefined
      ? ""
      : html`<p>${told(replaced)}: this replaced the credentials that were then refused.</p>`;
  return html`<h4>What happened</h4>
    ${before}
    <ol class="chain">
      ${entries}
    </ol>`;
}

function contradictions({ all, more }: Extract<VaultBlock, { kind: "contradictions" }>): Markup {
  const entries = all.map(
    ({ at, words, text, item }) =>
      html`<li>${time(at)} <strong>${words}</strong>: ${sentence(text)} ${itemLocation(item)}</li>`,
  );
  return html`<h4>Contradictions in the log</h4>
    <ul class="odd">
      ${entries}${more > 0 ? html`<li>and ${more} more</li>` : ""}
    </ul>`;
}

function figure(vault: VaultReport, drawing: Drawing): Markup {
  const { timeline = [] } = vault;
  const left = timeline.length - maxDrawn;
  const caption =
    left > 0
      ? html`<figcaption>
          ${counted(left, "event is", "events are")} not drawn; the table has them.
        </figcaption>`
      : "";
  return html`<figure>${timelineOf(vault, drawing)} ${caption}</figure>
    ${eventTable(vault, drawing)}`;
}

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
function eventTable(vault: VaultReport, { rules }: Drawing): Markup {
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
