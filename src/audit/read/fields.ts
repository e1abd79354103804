import { parseTime } from "../columns/times.ts";
import { attempt } from "../../attempt.ts";
import { isObject } from "../../protocol/json.ts";
import { looksLikeAction, rankOf, uuidInEndpoint, uuidOf } from "../columns/looks.ts";
import { anyUuid } from "./item.ts";

/** Values of a record by column, without empty ones. A Map: a column like `__proto__` is safe. */
export type Fields = Map<string, string>;

/** Depth below which values are kept as JSON text. */
const deepestColumn = 8;

/** Maximum columns of a record. A line of 1 MiB could have a hundred thousand; no export does. */
const maxColumns = 2000;

/**
 * Returns the columns of a JSON object: nested objects by dotted names (`vault.uuid`), other arrays
 * as JSON text, numbers and booleans as text, without null and empty strings.
 *
 * @throws RangeError for an array nested too deeply for JSON.stringify.
 */
function flatten(value: object, fields: Fields = new Map(), prefix = "", depth = 1): Fields {
  for (const [key, given] of Object.entries(value) as [string, unknown][]) {
    if (fields.size >= maxColumns) break;
    const name = prefix + key;
    // Elasticsearch makes a list of every field, OpenTelemetry one of all.
    const isOne = Array.isArray(given) && given.length === 1 && typeof given[0] !== "object";
    const child: unknown = isOne ? given[0] : (byKey(given) ?? given);
    if (typeof child === "string") {
      if (child !== "") fields.set(name, child);
    } else if (typeof child === "number" || typeof child === "boolean") {
      fields.set(name, String(child));
    } else if (typeof child === "object" && child !== null) {
      if (!Array.isArray(child) && depth < deepestColumn)
        flatten(child, fields, `${name}.`, depth + 1);
      else if (given !== child || Object.keys(child).length > 0)
        fields.set(name, JSON.stringify(child));
    }
  }
  return fields;
}

/** Makes an object of a list like `[{"key":"action","value":…},…]`; undefined for any other. */
function byKey(list: unknown): object | undefined {
  if (!Array.isArray(list) || list.length === 0) return undefined;
  const pairs = list.map((one: unknown) =>
    isObject(one) && "value" in one
      ? [one["key"] ?? one["field"] ?? one["name"], one["value"]]
      : [],
  );
  const keys = new Set(pairs.map(([key]) => key));
  const isKeyed = keys.size === pairs.length && pairs.every(([key]) => typeof key === "string");
  return isKeyed ? (Object.fromEntries(pairs) as object) : undefined;
}

/** Whether an object has lists of values by column, with numbers for keys, as pandas writes it. */
const isByColumn = (value: object): boolean =>
  Object.values(value).every(
    (list) => isObject(list) && "1" in list && Object.keys(list).every((key) => /^\d+$/.test(key)),
  ) && Object.values(value).some((list) => typeof (list as { 1: unknown })[1] === "string");

/** Fifty nested objects and lists: no export has as many, and looking into all takes minutes. */
const tooDeep = /(?:[[{][^[\]{}]*){50}/;

/** The columns of a record, or those of the item that is in the text of one of them. */
export interface Looked {
  fields: Fields;
  likeness: number;
  isText: boolean;
}

/** A JSON object; without columns and with a reason if it is none. */
export interface Parsed extends Looked {
  value: object;
  /** That of what its lists hold, and its objects by id. */
  inner: number;
  reason?: string;
}

/**
 * Parses a JSON object, or a row of values with these names, also with NaN, None, a comma before a
 * brace, control characters in strings, or a `\` that escapes nothing. Integers beyond 2^53 become
 * strings, to keep their digits. `depth`: texts that it is in.
 */
export function parse(text: string, depth = 0, names?: readonly string[]): Parsed {
  // Rejects what cannot be JSON without the cost of an exception.
  if (!/^\s*["{[\dtfn-]/.test(text)) return none("not JSON");
  if (tooDeep.test(text)) return none("nested too deeply");
  try {
    const given = parseLoosely(text);
    const value = names === undefined ? (byKey(given) ?? given) : objectOf(given, names);
    // Another program's text of an object, written as a string.
    if (typeof value === "string" && value.trimStart().startsWith("{")) return parse(value, depth);
    if (!isObject(value)) return none("not an object");
    if (isByColumn(value)) return none("lists of values by column, not items");
    const looked = itemIn(flatten(value), depth);
    const isFlat = Object.values(value).every((one) => one === null || typeof one !== "object");
    if (isFlat || depth > 0) return { value, ...looked, inner: unlike };
    const isItem = looked.likeness === alike && vaultIn(looked.fields) !== null;
    return { value, ...looked, inner: innerOf(value, isItem ? value : {}) };
  } catch (error) {
    return none(error instanceof RangeError ? "nested too deeply" : "not JSON");
  }
}

const none = (reason: string): Parsed => {
  const nothing = { value: {}, fields: new Map(), likeness: unlike, isText: false, inner: unlike };
  return { ...nothing, reason };
};

/** Parses JSON with what `parse` allows. */
export function parseLoosely(text: string): unknown {
  try {
    return parseExactly(text);
  } catch (error) {
    if (error instanceof RangeError || !/^\s*["[{]/.test(text)) throw error;
    return parseExactly(text.replaceAll(loose, repaired));
  }
}

function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return hasLongNumber.test(text)
    ? JSON.parse(text, keepDigits as Parameters<typeof JSON.parse>[1])
    : value;
}

/** Strings, commas before braces, numbers, words. Open strings extend to the end: linear time. */
const loose = /"[^"\\]*(?:\\.[^"\\]*)*"?|,(?=\s*[}\]])|[\w.+-]+/gs;
const repaired = (part: string): string => {
  if (part.startsWith('"'))
    return part.replaceAll(/\p{Cc}|\\(?:["\\/bfnrt]|u[\da-fA-F]{4})?/gu, (one) =>
      one === "\\" ? "\\\\" : one.replace(/\p{Cc}/u, " "),
    );
  if (part === ",") return "";
  if (/^(?:true|false)$/i.test(part)) return part.toLowerCase();
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(part) ? part : "null";
};

const hasLongNumber = /[:,[\s]-?\d{16}/;

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)
    ? (context?.source ?? value)
    : value;
}

/** How much a record looks like an audit item, or holds one as text. */
export const unlike = 0;
/** It has a time and a uuid. */
export const similar = 1;
/** It has a time and a known action. */
export const alike = 2;

/** Maximum depth of texts in texts, and of nested objects and lists, to look for items in. */
const [deepestText, deepestWrapper] = [3, 10];

function likenessOf(fields: Fields): number {
  let hasTime = false;
  let hasAction = false;
  let hasUuid = false;
  for (const value of fields.values()) {
    if (/[[{]\s*["{]/.test(value)) continue;
    hasAction ||= looksLikeAction(value);
    hasUuid ||= uuidOf(value) !== null || anyUuid.test(value);
    hasTime ||=
      /\d:\d\d/.test(value) || (/^[^-]{0,30}\d{4}/.test(value) && parseTime(value) !== null);
  }
  return !hasTime ? unlike : hasAction ? alike : hasUuid ? similar : unlike;
}

/** Returns the uuid of the vault that a column names, or a request path. */
function vaultIn(fields: Fields): string | null {
  for (const [name, value] of fields) {
    const isNamed = rankOf("vault", name) < Infinity || rankOf("target", name) < Infinity;
    const inPath = value.includes("{") ? null : uuidInEndpoint(value);
    const uuid = (isNamed ? uuidOf(value) : null) ?? inPath;
    if (uuid !== null) return uuid;
  }
  return null;
}

/** Whether an item in a text names a vault that is nowhere beside the text. */
function tellsVault({ fields }: Looked, beside: Fields): boolean {
  const uuid = vaultIn(fields);
  const others = [...beside.values()].map((value) => uuidOf(value));
  return uuid !== null && vaultIn(beside) === null && !others.includes(uuid);
}

/** Finds a record's item: in its columns or, if more like one, a text; the rest is the log's. */
export function itemIn(fields: Fields, depth = 0): Looked {
  let best = { fields, likeness: likenessOf(fields), isText: false };
  if (depth === deepestText) return best;
  for (const value of fields.values()) {
    // journald writes a text with other characters as a list of its bytes.
    const text = /^\[\d+,[\d,]*\d\]$/.test(value)
      ? Buffer.from(value.slice(1, -1).split(",").map(Number)).toString()
      : value;
    const at = text.indexOf("{");
    if (at < 0) continue;
    const inner = parse(text.slice(at).trimEnd(), depth + 1);
    const isEqual = inner.likeness === alike && best.likeness === alike;
    if (inner.likeness > best.likeness || (isEqual && tellsVault(inner, best.fields)))
      best = { fields: inner.fields, likeness: inner.likeness, isText: true };
  }
  return best;
}

/** Members looked at to find out what an object or list holds. */
const maxMembers = 20;

/** Whether a key may have the names for rows: `{"fields":["time",…],"rows":[["2026…",…],…]}`. */
export const isHeader = (key: string): boolean => /^(?:fields|columns)$/.test(key);

/** Returns names in a list, or of objects in it; undefined for any other list, as one of items. */
function namesIn(list: unknown): string[] | undefined {
  if (!Array.isArray(list) || list.length === 0) return undefined;
  if (anyUuid.test(JSON.stringify(list))) return undefined;
  const names: unknown[] = list.map((one: unknown) => (isObject(one) ? one["name"] : one));
  return names.every((name) => typeof name === "string") ? names : undefined;
}

/** Makes an object of a row; returns others, of another length or of objects, as they are. */
function objectOf(row: unknown, names: readonly string[]): unknown {
  if (!Array.isArray(row) || row.length !== names.length) return row;
  const holdsObject = row.some(
    (one) => typeof one === "object" && JSON.stringify(one).includes("{"),
  );
  return holdsObject
    ? row
    : Object.fromEntries(names.map((name, index) => [name, row[index] as unknown]));
}

/** Returns the first rows of each list that is behind its names, as objects. */
function rowsIn(value: object): unknown[] {
  let names: string[] | undefined;
  const rows: unknown[] = [];
  for (const [key, one] of Object.entries(value) as [string, unknown][])
    if (isHeader(key)) names = namesIn(one);
    else if (names !== undefined && Array.isArray(one))
      for (const row of one.slice(0, maxMembers)) rows.push(objectOf(row, names));
  return rows;
}

/** Does what `namesIn` does with a text. */
export const namesOf = (text: string): string[] | undefined =>
  attempt(() => namesIn(parseLoosely(text)));

/** Looks for items in the lists of a value and in its objects by id; not for what `item` was. */
function innerOf(value: object, item: object, depth = 0): number {
  if (depth > deepestWrapper) return unlike;
  const isMany = Array.isArray(value) || isById(value);
  const members = Object.values(value).slice(0, maxMembers) as unknown[];
  return Math.max(
    unlike,
    ...rowsIn(value).map((row) => (isObject(row) ? itemIn(flatten(row)).likeness : unlike)),
    ...members.map((member) => {
      const isText = isMany && typeof member === "string";
      if (typeof member !== "object" || member === null)
        return isText ? parse(member).likeness : unlike;
      if (hasNamesOf(member, item, 0.8)) return unlike;
      const one = byKey(member) ?? member;
      const own = isMany && isObject(one) ? itemIn(flatten(one)).likeness : unlike;
      return own === unlike ? innerOf(member, item, depth + 1) : own;
    }),
  );
}

/** Whether the members of an object are objects of one kind, like `{"id-1":{…},"id-2":{…}}`. */
export function isById(value: object): boolean {
  const members = Object.entries(value).slice(0, maxMembers) as [string, unknown][];
  const [[key, first] = ["", null], [, second] = []] = members;
  if (!isObject(first) || !members.every(([, member]) => isObject(member))) return false;
  return isObject(second) ? hasNamesOf(first, second) : /\d/.test(key);
}

/** Whether an object has a share of its names, half of them if no other is given, from another. */
function hasNamesOf(object: object, other: object, part = 0.5): boolean {
  const names = Object.keys(object);
  const shared = names.filter((name) => Object.hasOwn(other, name));
  return shared.length >= names.length * part && shared.length > 0;
}

/** Whether an object holds items, and is none. `isAmongItems`: those before it were. */
export const isWrapper = ({ likeness, inner }: Parsed, isAmongItems: boolean): boolean =>
  inner > unlike && (likeness === alike ? inner === alike && !isAmongItems : inner >= likeness);

/** Whether an object is a page like `{"items":[]}`, and not an item with an empty list. */
export const isEmptyWrapper = ({ value, likeness }: Parsed): boolean =>
  likeness === unlike && Object.values(value).some((one) => Array.isArray(one) && one.length === 0);
