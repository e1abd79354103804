/** Text that is already markup. All other text is escaped. */
export interface Markup {
  readonly markup: string;
}

type Inserted = string | number | Markup | readonly Inserted[] | undefined;

/**
 * Template tag for markup. Escapes inserted values, unless they are markup, and removes the indentation of the source. Its name is none
 * that the formatter knows: it would break the lines of styles and scripts, whose hashes are in the policy of the page.
 */
export function markup(strings: TemplateStringsArray, ...inserted: readonly Inserted[]): Markup {
  let written = trimmed(strings[0]);
  for (const [index, value] of inserted.entries())
    written += write(value) + trimmed(strings[index + 1]);
  return { markup: written };
}

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
export const escape = (text: string): string =>
  text
    .replace(hidden, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
    .replace(/[&<>"']/g, (character) => references[character] ?? "");

/** Cuts a text between characters, and keeps few of the marks that would cover the lines around it. */
export function clip(text: string, most: number): string {
  const few = text.slice(0, most * 2).replace(/(\p{Mark}{4})\p{Mark}+/gu, "$1");
  return few.length <= most && text.length <= most * 2
    ? few
    : `${few.slice(0, most).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** Renders a text that may be from a log, isolated from the direction of the text around it. */
export const value = (text: string, most = 200): Markup => markup`<bdi>${clip(text, most)}</bdi>`;
