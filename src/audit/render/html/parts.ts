import type { ItemReference, VaultReport } from "../../../documents/audit.ts";
import type { Verdict } from "../../report/severity.ts";
import type { Line } from "../words.ts";
import { advisedCommand, isMoment, moment, verdictWords } from "../words.ts";

/** Text that is already markup. All other text is escaped. */
export interface Markup {
  readonly markup: string;
}

type Inserted = string | number | Markup | readonly Inserted[] | undefined;

/** Template tag for markup. Escapes inserted values, unless they are markup, and removes the indentation of the source. */
export function html(strings: TemplateStringsArray, ...inserted: readonly Inserted[]): Markup {
  let markup = trimmed(strings[0]);
  for (const [index, value] of inserted.entries())
    markup += write(value) + trimmed(strings[index + 1]);
  return { markup };
}

/** The same tag under a name that the formatter does not know, for markup without line breaks: drawings, rows of tables. */
export const inline = html;

const trimmed = (text = ""): string => text.replace(/\n +/g, "\n");

function write(value: Inserted): string {
  if (value === undefined) return "";
  if (typeof value === "string") return escape(value);
  if (typeof value === "number") return String(value);
  return "markup" in value ? value.markup : value.map(write).join("");
}

const references: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Characters that are invisible or change how the text around them looks: control, bidirectional, tag and lone surrogate characters. */
const hidden =
  /\p{Control}|\p{Surrogate}|[\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]|[\u{E0000}-\u{E007F}]/gu;

/** Escapes a text for content or a quoted attribute. No text enters the page in another way. */
export function escape(text: string): string {
  return text
    .replace(hidden, visible)
    .replace(/[&<>"']/g, (character) => references[character] ?? "");
}

/** Escapes a character as on a terminal: many fonts lack symbols for control characters. */
const visible = (character: string): string =>
  `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** Renders a value from an item, cut to `most` characters and isolated from the direction of the text around it. */
export const value = (text: string, most = 200): Markup =>
  html`<bdi class="value">${clip(text, most)}</bdi>`;

export function clip(text: string, most: number): string {
  const few = text.slice(0, most * 2).replace(/(\p{Mark}{4})\p{Mark}+/gu, "$1");
  return few.length <= most && text.length <= most * 2
    ? few
    : `${few.slice(0, most).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** Renders an ISO 8601 text as `2026-11-20 14:02:11`, in UTC, with its milliseconds as a title; other text as a value. */
export function time(at: string): Markup {
  if (!isMoment(at)) return value(at, 40);
  const [text, exact] = [timeText(at), exactTime(at)];
  return html`<time
    datetime="${new Date(at).toISOString()}"
    ${exact === text ? "" : html` title="${exact}"`}
    >${text}</time
  >`;
}

export const timeText = (at: string): string =>
  isMoment(at) ? exactTime(at).slice(0, 19) : clip(at, 40);

/** The time with milliseconds, unless they are zero. */
export const exactTime = (at: string): string =>
  isMoment(at)
    ? new Date(at)
        .toISOString()
        .replace("T", " ")
        .replace(/(?:\.000)?Z$/, "")
    : clip(at, 40);

// Elements that several parts of the page share.

/** Renders a verdict in its color and in words. */
export const badge = (verdict: Verdict): Markup =>
  html`<span class="badge ${verdict}">${verdictWords[verdict]}</span>`;

/** Renders a sentence that contains values from items, with its times as `time` elements. */
export function sentence(text: string): Markup {
  const bounded = clip(text, 800);
  const moments = bounded.match(moment) ?? [];
  const parts = bounded.split(moment);
  return html`<bdi
    >${parts.map((part, index) => html`${part}${moments[index] === undefined ? "" : time(moments[index])}`)}</bdi
  >`;
}

/** Renders the name of a vault: its uuid, with its label. */
export const vaultName = ({ uuid, label }: Pick<VaultReport, "uuid" | "label">): Markup =>
  label === null ? unbroken(uuid) : html`${unbroken(uuid)} (${value(label, 80)})`;

const isUuid = (text: string): boolean => /^[0-9a-f-]{36}$/i.test(text);

/** Renders a uuid on one line. */
export const unbroken = (uuid: string): Markup =>
  isUuid(uuid) ? html`<span class="uuid">${uuid}</span>` : value(uuid, 80);

/** Renders advice with its commands, each with a button that copies it. */
export function instruction(text: string): Markup {
  const commands = text.match(advisedCommand) ?? [];
  const rest = text.split(advisedCommand);
  return html`${rest.map((part, index) => html`${sentence(part)}${commands[index] === undefined ? "" : copied(commands[index])}`)}`;
}

/** A command that breaks between its words only. */
const copied = (command: string): Markup =>
  inline`<code>${command.split(" ").map((word, index) => inline`${index === 0 ? "" : " "}<span>${word}</span>`)}</code> <button type="button" class="copy" aria-label="Copy: ${command}" hidden>Copy</button>`;

/** Renders a line of an outline. */
export const written = (line: Line): Markup =>
  inline`${line.map((part): Markup | string => {
    if (typeof part === "string") return part;
    if ("value" in part) return value(part.value);
    if ("sentence" in part) return sentence(part.sentence);
    if ("time" in part) return time(part.time);
    if ("place" in part) return itemLocation(part.place);
    return "verdict" in part
      ? badge(part.verdict)
      : inline`<span class="sure">${part.certainty}</span>`;
  })}`;

/** Renders the attributes that the filter reads: uuid and label with addresses and references, verdict, and time of the verdict. */
export function filterData(vault: VaultReport): Markup {
  const { uuid, label, who, timeline = [], verdict, since, lastAt } = vault;
  // Of a vault that is fine only its newest items tell who has used it.
  const users = timeline.toReversed().flatMap(({ item }) => [item.address, item.externalRef]);
  const origins = new Set([
    ...[...who.addresses, ...who.externalRefs].map((each) => each.value),
    ...users.filter((user) => user !== undefined),
  ]);
  const texts = [uuid, label ?? "", ...[...origins].slice(0, 20)];
  const find = clip(texts.map((text) => clip(text, 200)).join(" "), 2000).toLowerCase();
  return {
    markup: `data-find="${escape(find)}" data-verdict="${escape(verdict)}" data-at="${escape(clip(since ?? lastAt, 40))}"`,
  };
}

/** Renders the input and line of an item. */
export const itemLocation = ({ input, line }: Pick<ItemReference, "input" | "line">): Markup =>
  html`<span class="place">${value(input, 60)}, line ${line}</span>`;

/** Heading of a column, with an explanation if it is abbreviated. */
export type Head = readonly [text: string, title?: string];

/** Renders the cells of a row, the first of which names it. A narrow screen shows them as a list, with the headings as labels. */
export function cells(heads: readonly Head[], contents: readonly (Markup | string)[]): Markup {
  const rest = contents
    .slice(1)
    .map((content, index) => inline`<td data-label="${heads[index + 1]?.[0]}">${content}</td>`);
  return inline`<th scope="row">${contents[0]}</th>${rest}`;
}

/** Renders a table up to its first row. */
export function tableStart(name: string, heads: readonly Head[], className?: string): Markup {
  const cells = heads.map(([text, title]) => {
    const content = title === undefined ? text : inline`<abbr title="${title}">${text}</abbr>`;
    return inline`<th scope="col">${content}</th>`;
  });
  const names = className === undefined ? "" : inline` class="${className}"`;
  return inline`<table${names} aria-label="${name}"><thead><tr>${cells}</tr></thead>\n<tbody>\n`;
}

export const tableEnd: Markup = inline`</tbody></table>\n`;

/** Renders a table with its rows. */
export const table = (
  name: string,
  heads: readonly Head[],
  rows: readonly Markup[],
  className?: string,
): Markup => inline`${tableStart(name, heads, className)}${rows}${tableEnd}`;
