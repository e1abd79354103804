/** Quotes a value of an export for a message: at most 40 characters, with control and bidirectional formatting characters escaped. */
export function clip(text: string): string {
  const short = text.length > 40 ? `${text.slice(0, 39)}…` : text;
  return JSON.stringify(short).replaceAll(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (unit) => {
      return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
    },
  );
}

/** Lists the first 20 column names for a message. */
export function listNames(names: readonly string[]): string {
  if (names.length === 0) return "none";
  const shown = names
    .slice(0, 20)
    .map((name) => (/^[\w.@ -]{1,40}$/.test(name) ? name : clip(name)));
  return names.length > 20 ? `${shown.join(", ")} and ${names.length - 20} more` : shown.join(", ");
}

/** Clips a value from a log to what a line has room for. */
export const short = (value: string): string =>
  value.length <= 100 ? value : `${value.slice(0, 100)}…`;

/** The texts whose conditions hold. */
export const said = (...all: readonly (readonly [is: boolean, text: string])[]): string[] =>
  all.flatMap(([is, text]) => (is ? [text] : []));

/** Lists the first texts: `a, b, c and 2 more`. */
export const listed = (texts: readonly string[], most = 3): string =>
  texts.slice(0, most).join(", ") + (texts.length > most ? ` and ${texts.length - most} more` : "");
