import { jsonText } from "../../terminal/redactor.ts";

/** Quotes a value of an export for a message: at most 40 characters, safe for a terminal. */
export const clip = (text: string): string =>
  jsonText(text.length > 40 ? `${text.slice(0, 39)}…` : text);

/** Lists the first 20 column names for a message. */
export const listNames = (names: readonly string[]): string =>
  listed(
    names.map((name) => (/^[\w.@ -]{1,40}$/.test(name) ? name : clip(name))),
    20,
  ) || "none";

/** Clips a value from a log to what a line has room for. */
export const short = (value: string): string =>
  value.length <= 100 ? value : `${value.slice(0, 100)}…`;

/** The texts whose conditions hold. */
export const said = (all: Readonly<Record<string, boolean>>): string[] =>
  Object.keys(all).filter((text) => all[text]);

/** Lists the first texts: `a, b, c and 2 more`. */
export const listed = (texts: readonly string[], most = 3): string =>
  texts.slice(0, most).join(", ") + (texts.length > most ? ` and ${texts.length - most} more` : "");
