import type { Drawing } from "./timeline.ts";
import { maxDrawn, timelineOf } from "./timeline.ts";
import type { Markup } from "./text.ts";
import { html, time, value } from "./text.ts";
import { eventTable } from "./events.ts";
import { badge, filterData, instruction, itemLocation, own, sentence, vaultName } from "./parts.ts";
import { chainOf, hasLocked, openExchange } from "../model.ts";
import { contradictionWords, counters, eventWords, ruleWords } from "../words.ts";
import { counted } from "../../../terminal/count.ts";
import type { ItemReference, Tally, VaultReport } from "../../../documents/audit.ts";

const longestChain = 12;

/** Renders the section of a vault. */
export function vaultSection(vault: VaultReport, drawing: Drawing): Markup {
  const { cause, since, advice, verdict, timeline = [] } = vault;
  const { starts, failed } = counters(vault, drawing.rules);
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
    ${cause === undefined ? "" : html`<p class="cause">${sentence(cause.text)}</p>`}
    <div class="advice">
      <div>
        <h4>For support</h4>
        <p>${instruction(advice.support)}</p>
      </div>
      <div>
        <h4>For the developer of the client</h4>
        <p>${instruction(advice.developer)}</p>
      </div>
    </div>
    <dl class="facts">
      ${cause?.refused === undefined ? "" : fact("Refused credentials", sentence(cause.refused.text))}
      ${cause === undefined ? "" : fact("Rule", html`${ruleWords[cause.rule]}, <span class="sure">${cause.certainty}</span>: ${sentence(cause.reason)}`)}
      ${cause?.reason === vault.reason ? "" : fact("Why", html`<span class="sure">${vault.certainty}</span>: ${sentence(vault.reason)}`)}
      ${pending(vault)}
      ${fact("Counters", `${starts} unacknowledged starts, ${failed} failed attempts in a row`)}
      ${who(vault)}
      ${fact("Items", html`${counted(vault.items, "item")}, from ${time(vault.firstAt)} to ${time(vault.lastAt)}`)}
    </dl>
    ${chain(vault)} ${contradictions(vault)} ${timeline.length === 0 ? "" : figure(vault, drawing)}
  </article> `;
}

const fact = (label: string, content: Markup | string): Markup =>
  html`<dt>${label}</dt>
    <dd>${content}</dd>`;

function pending(vault: VaultReport): Markup | string {
  const open = openExchange(vault);
  if (open === undefined) return "";
  const { operation, startedAt, token, tokenExpiry } = open;
  return fact(
    "Open",
    html`${operation} started ${time(startedAt)}, not acknowledged; ${token} ${time(tokenExpiry)}`,
  );
}

function who({ who, cause }: VaultReport): Markup[] {
  const exchanges = new Map(
    (cause?.chain ?? []).flatMap((item) =>
      item.own === undefined ? [] : [[item.own.id, item] as const],
    ),
  );
  const rows: [string, readonly Tally[]][] = [
    ["Addresses", who.addresses],
    ["References", who.externalRefs],
    ["Endpoints", who.endpoints],
    ["Applications", who.applications],
  ];
  const tallies = rows
    .filter(([, values]) => values.length > 0)
    .map(([label, values]) => fact(label, tally(values)));
  return exchanges.size === 0
    ? tallies
    : [
        ...tallies,
        fact(
          "This machine",
          html`${[...exchanges.values()].slice(0, 5).map((item) => html`<p>${own(item)}</p>`)}`,
        ),
      ];
}

function tally(values: readonly Tally[]): Markup {
  const few = values
    .slice(0, 5)
    .map(
      ({ value: text, count }) => html`<li>${value(text)}${count > 1 ? ` × ${count}` : ""}</li>`,
    );
  const more = values.length > 5 ? html`<li>and ${values.length - 5} more</li>` : "";
  return html`<ul class="tally">
    ${few}${more}
  </ul>`;
}

function chain(vault: VaultReport): Markup | string {
  const items = chainOf(vault);
  if (items.length === 0) return "";
  const left = items.length - longestChain;
  const entry = (item: ItemReference): Markup => {
    const words = html`${time(item.at)} ${eventWords[item.event]} ${itemLocation(item)}`;
    return hasLocked(vault, item)
      ? html`<li class="locks">${words} <strong>This locked the vault.</strong></li>`
      : html`<li>${words}</li>`;
  };
  const head =
    left > 0
      ? [
          ...items.slice(0, 4).map(entry),
          html`<li class="more">… ${left} more …</li>`,
          ...items.slice(4 + left).map(entry),
        ]
      : items.map(entry);
  return html`<h4>What happened</h4>
    <ol class="chain">
      ${head}
    </ol>`;
}

function contradictions({ contradictions, moreContradictions }: VaultReport): Markup | string {
  if (contradictions.length + moreContradictions === 0) return "";
  const entries = contradictions.map(
    ({ at, kind, text, item }) =>
      html`<li>
        ${time(at)} <strong>${contradictionWords[kind]}</strong>: ${sentence(text)}
        ${itemLocation(item)}
      </li>`,
  );
  const more = moreContradictions > 0 ? html`<li>and ${moreContradictions} more</li>` : "";
  return html`<h4>Contradictions in the log</h4>
    <ul class="odd">
      ${entries}${more}
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
  return html`<figure>
      <div class="scroll" tabindex="0" role="group" aria-label="Timeline, can be scrolled">
        ${timelineOf(vault, drawing)}
      </div>
      ${caption}
    </figure>
    ${eventTable(vault, drawing)}`;
}
