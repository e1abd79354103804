import { VaultError } from "../errors.ts";

/** Nesting limit. The interface has five levels; JSON that is nested without limit could be parsed, but not walked or serialized. */
const deepest = 100;

/**
 * Parses JSON from an untrusted source.
 * @throws SyntaxError if it is not JSON, or is nested too deeply
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (isDeeper(value, deepest)) throw new SyntaxError("nested too deeply");
  return value;
}

/** Whether a value is an object, and no list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Parses the one JSON document that a user gave.
 * @throws `invalid-input` with this hint, which names `source`, the flag, variable or config key, and never shows the text
 */
export function parseGivenJson(text: string, source: string, hint: string): unknown {
  try {
    return parseJson(text);
  } catch {
    const parts = [...partsOf(text)];
    const isSeveral = parts.length > 1 && parts.every(({ isJson }) => isJson);
    const why = isSeveral ? `${parts.length} documents, where one is expected` : "not valid JSON";
    throw new VaultError("invalid-input", `${source}: ${why}`, { hint });
  }
}

/** Where an entry stands in a list: a line of it, or an item of its arrays. */
export type Place = { line: number } | { item: number };

export const placeName = (place: Place): string =>
  "line" in place ? `line ${place.line}` : `item ${place.item}`;

/**
 * Parses a list that a user gave: JSON documents in a row, on lines or in arrays; of any other line its text. Empty lines are none.
 * @throws `invalid-input`, as `parseGivenJson`
 */
export function* parseList(
  text: string,
  source: string,
  hint: string,
): Generator<{ place: Place; value: unknown }> {
  let item = 0;
  for (const { line, part, isJson } of partsOf(text)) {
    const value = isJson ? parseGivenJson(part, `${source} line ${line}`, hint) : part;
    if (!Array.isArray(value)) yield { place: { line }, value };
    else for (const each of value as unknown[]) yield { place: { item: (item += 1) }, value: each };
  }
}

const space = /\s*/y;
/** A label may begin with a bracket or a quote. */
const json = /\{|\[\s*["{[\]]|"[^"\\\n]*(?:\\.[^"\\\n]*)*"\s*$/my;
const mark = /["[\]{}]|\\./gs;
const rest = /.*/y;

/** Cuts a text into its JSON documents and other lines, each with the number of its line. */
function* partsOf(text: string): Generator<{ line: number; part: string; isJson: boolean }> {
  let [line, at] = [1, 0];
  const take = (end: number): string => {
    const taken = text.slice(at, end);
    line += taken.split("\n").length - 1;
    at = end;
    return taken;
  };
  for (;;) {
    take(endOf(space, text, at));
    if (at === text.length) return;
    json.lastIndex = at;
    const isJson = json.test(text);
    const first = line;
    const part = take(isJson ? endOfDocument(text, at) : endOf(rest, text, at));
    yield { line: first, part: part.trim(), isJson };
  }
}

function endOf(form: RegExp, text: string, at: number): number {
  form.lastIndex = at;
  form.test(text);
  return form.lastIndex;
}

/** The end of the brackets or the string that begin at a place; of the text, if they do not end. */
function endOfDocument(text: string, at: number): number {
  let depth = 0;
  let isInString = false;
  mark.lastIndex = at;
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    const [char] = found;
    if (char === '"') isInString = !isInString;
    else if (!isInString) depth += Number("[{".includes(char)) - Number("]}".includes(char));
    if (depth <= 0 && !isInString) return mark.lastIndex;
  }
  return text.length;
}

/** Whether a value has more than `levels` levels. Recurses no deeper than that. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}
