import { isMoment } from "../words.ts";

/** Text that is markup already. Everything else that enters the page is escaped. */
export interface Markup {
  readonly markup: string;
}

type Inserted = string | number | Markup | readonly Inserted[] | undefined;

/** A template of markup: what is inserted enters as text, unless it is markup itself. The indentation of the source stays out. */
export function html(strings: TemplateStringsArray, ...inserted: readonly Inserted[]): Markup {
  let markup = trimmed(strings[0]);
  for (const [index, value] of inserted.entries()) markup += write(value) + trimmed(strings[index + 1]);
  return { markup };
}

/** The same, for markup that is not to be broken into lines by a formatter: drawings, rows of tables. */
export const inline = html;

const trimmed = (text = ""): string => text.replace(/\n +/g, "\n");

function write(value: Inserted): string {
  if (value === undefined) return "";
  if (typeof value === "string") return escape(value);
  if (typeof value === "number") return String(value);
  return "markup" in value ? value.markup : value.map(write).join("");
}

const references: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Would not be seen, or would change how what stands around it is seen: controls, direction, tags, halves of a character. */
const hidden =
  /\p{Control}|\p{Surrogate}|[\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]|[\u{E0000}-\u{E007F}]/gu;

/** The one way for a text into the page, as content or as the value of an attribute in quotes. */
export function escape(text: string): string {
  return text.replace(hidden, visible).replace(/[&<>"']/g, (character) => references[character] ?? "");
}

/** As on a terminal: symbols for controls are missing in many fonts. */
const visible = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** A value from an item, of any script and length: set apart from the text around it, and cut where it is too long. */
export const value = (text: string, most = 200): Markup => html`<bdi class="value">${clip(text, most)}</bdi>`;

export function clip(text: string, most: number): string {
  const few = text.slice(0, most * 2).replace(/(\p{Mark}{4})\p{Mark}+/gu, "$1");
  return few.length <= most && text.length <= most * 2 ? few : `${few.slice(0, most).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** `2026-11-20 14:02:11` of an ISO 8601 text, in UTC, with milliseconds where there are any; what is no date, as it is. */
export function time(at: string): Markup {
  if (!isMoment(at)) return value(at, 40);
  const date = new Date(at);
  return html`<time datetime="${date.toISOString()}">${written(date)}</time>`;
}

export const timeText = (at: string): string => (isMoment(at) ? written(new Date(at)) : clip(at, 40));

const written = (date: Date): string =>
  date
    .toISOString()
    .replace("T", " ")
    .replace(/(?:\.000)?Z$/, "");
