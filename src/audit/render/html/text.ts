import { isMoment } from "../words.ts";

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
