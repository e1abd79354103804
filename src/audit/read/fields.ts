import { parseTime } from "../columns/times.ts";
import { looksLikeAction, uuidOf } from "../columns/values.ts";

/** Values of a record by column, without empty ones. A Map, so that a column like `__proto__` is safe. */
export type Fields = Map<string, string>;

/** Maximum size of a record in bytes. A longer one is skipped, and never held in memory. */
export const longestRecord = 1024 * 1024;

/** Reason for skipping it. */
export const tooLong = "longer than 1 MiB";

/** Depth below which values are kept as JSON text. */
const deepestColumn = 8;

/** Maximum number of columns in a record. A line of 1 MiB could have a hundred thousand; no export does. */
const maxColumns = 2000;

/**
 * Returns the columns of a JSON object: nested objects by dotted names (`vault.uuid`), arrays as JSON text, numbers and booleans as text,
 * without null and empty strings.
 *
 * @throws RangeError for an array nested too deeply for JSON.stringify.
 */
function flatten(value: object): Fields {
  const fields: Fields = new Map();
  collect(fields, "", value, 1);
  return fields;
}

function collect(fields: Fields, prefix: string, value: object, depth: number): void {
  for (const [key, given] of Object.entries(value) as [string, unknown][]) {
    if (fields.size >= maxColumns) return;
    const name = prefix + key;
    // Elasticsearch makes a list of every field.
    const isOne = Array.isArray(given) && given.length === 1 && typeof given[0] !== "object";
    const child: unknown = isOne ? given[0] : given;
    if (typeof child === "string") {
      if (child !== "") fields.set(name, child);
    } else if (typeof child === "number" || typeof child === "boolean") {
      fields.set(name, String(child));
    } else if (typeof child === "object" && child !== null) {
      if (!Array.isArray(child) && depth < deepestColumn)
        collect(fields, `${name}.`, child, depth + 1);
      else fields.set(name, JSON.stringify(child));
    }
  }
}

/**
 * Parses a JSON object, or returns why it is none. What programs write beside JSON is read too: NaN, None, a comma before a brace, and
 * control characters in strings. Integers beyond 2^53 become strings, to keep their digits.
 */
export function parseObject(
  text: string,
): { value: object; reason?: undefined } | { value?: undefined; reason: string } {
  // Rejects what cannot be JSON without the cost of an exception.
  if (!/^\s*["{[\dtfn-]/.test(text)) return { reason: "not JSON" };
  try {
    const value = parseLoosely(text);
    if (isObject(value)) return { value };
    // Another program's text of an object, written as a string.
    if (typeof value === "string" && value.trimStart().startsWith("{")) return parseObject(value);
    return { reason: `${kindOf(value)}, not an object` };
  } catch (error) {
    return { reason: error instanceof RangeError ? "nested too deeply" : "not JSON" };
  }
}

function parseLoosely(text: string): unknown {
  try {
    return parseExactly(text);
  } catch (error) {
    if (error instanceof RangeError || !/^\s*[[{]/.test(text)) throw error;
    return parseExactly(text.replaceAll(loose, (part) => repairs.get(part) ?? repaired(part)));
  }
}

function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return hasLongNumber.test(text)
    ? JSON.parse(text, keepDigits as Parameters<typeof JSON.parse>[1])
    : value;
}

/** Strings, a comma before a brace, numbers and words. An open string extends to the end: no character is looked at twice. */
const loose = /"[^"\\]*(?:\\.[^"\\]*)*"?|,(?=\s*[}\]])|[\w.+-]+/gs;
const repairs: ReadonlyMap<string, string> = new Map([
  ["true", "true"],
  ["false", "false"],
  ["True", "true"],
  ["False", "false"],
  [",", ""],
]);

const repaired = (part: string): string =>
  part.startsWith('"')
    ? part.replaceAll(/\p{Cc}/gu, " ")
    : /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(part)
      ? part
      : "null";

const hasLongNumber = /[:,[\s]-?\d{16}/;

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)
    ? (context?.source ?? value)
    : value;
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  return value === null ? "null" : `a ${typeof value}`;
}

/** Returns the columns of a JSON object, or why it is none. */
export function fieldsOf(text: string): Fields | string {
  const { value, reason } = parseObject(text);
  return value === undefined ? reason : flattened(value);
}

export function flattened(value: object): Fields | string {
  try {
    return flatten(value);
  } catch (error) {
    if (error instanceof RangeError) return "nested too deeply";
    throw error;
  }
}

/** How much a record looks like an audit item, or holds one as text. */
export const unlike = 0;
/** It has a time and a uuid. */
export const similar = 1;
/** It has a time and a known action. */
export const alike = 2;

export function likenessOf(fields: ReadonlyMap<string, string>): number {
  let hasTime = false;
  let hasAction = false;
  let hasUuid = false;
  let wrapped = unlike;
  for (const value of fields.values()) {
    if (value.startsWith("[{")) continue;
    const inner = value.startsWith("{") ? fieldsOf(value) : "";
    if (typeof inner !== "string") wrapped = Math.max(wrapped, likenessOf(inner));
    hasAction ||= looksLikeAction(value);
    hasUuid ||= uuidOf(value) !== null || anyUuid.test(value);
    hasTime ||=
      /\d:\d\d/.test(value) || (/^[^-]{0,30}\d{4}/.test(value) && parseTime(value) !== null);
  }
  return Math.max(wrapped, !hasTime ? unlike : hasAction ? alike : hasUuid ? similar : unlike);
}

/** A uuid in a text. */
export const anyUuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

/** Members looked at to find out what an object or list holds, and how deep. */
const maxMembers = 20;
const deepestWrapper = 6;

/** The likeness of the objects in the lists and maps of a value, and the number of those that have it. */
interface Inner {
  likeness: number;
  count: number;
}

/** Looks for items in the lists of a value and in its objects by id. */
function innerOf(value: object, depth = 0): Inner {
  const found: Inner = { likeness: unlike, count: 0 };
  if (depth > deepestWrapper) return found;
  const isMany = Array.isArray(value) || isById(value);
  for (const child of Object.values(value).slice(0, maxMembers) as unknown[]) {
    const fields = !isMany
      ? ""
      : typeof child === "string"
        ? fieldsOf(child)
        : isObject(child)
          ? flattened(child)
          : "";
    const own = typeof fields === "string" ? unlike : likenessOf(fields);
    if (own === unlike && (typeof child !== "object" || child === null)) continue;
    const { likeness, count } =
      own > unlike ? { likeness: own, count: 1 } : innerOf(child as object, depth + 1);
    if (likeness > found.likeness) Object.assign(found, { likeness, count });
    else if (likeness === found.likeness) found.count += count;
  }
  return found;
}

/** Whether the members of an object are objects of one kind, like `{"id-1":{…},"id-2":{…}}`. */
export function isById(value: object): boolean {
  const entries = Object.entries(value).slice(0, maxMembers) as [string, unknown][];
  const [first, second] = entries;
  if (first === undefined || !entries.every(([, child]) => isObject(child))) return false;
  if (second === undefined) return /\d/.test(first[0]);
  const names = Object.keys(first[1] as object);
  const shared = Object.keys(second[1] as object).filter((name) => names.includes(name));
  return shared.length * 2 >= names.length && shared.length > 0;
}

/** Whether an object holds items, and is none. `isAmongItems`: those before it were. */
export function isWrapper(value: object, likeness: number, isAmongItems: boolean): boolean {
  const inner = innerOf(value);
  if (inner.likeness === unlike) return false;
  if (likeness === alike && (isAmongItems || inner.likeness < alike)) return false;
  return inner.likeness > likeness || inner.count > 1 || inner.likeness === alike;
}

/** Returns the columns of the item that is JSON in the text of a column, with those beside one that is not whole; null if there is none. */
export function unwrapped(fields: Fields, column: string): Fields | null {
  let text = fields.get(column);
  if (text === undefined) return null;
  // journald writes a text with other characters as a list of its bytes.
  if (/^\[\d+,[\d,]*\d\]$/.test(text)) text = Buffer.from(JSON.parse(text) as number[]).toString();
  const at = text.indexOf("{");
  const inner = at < 0 ? undefined : parseObject(text.slice(at).trimEnd()).value;
  const found = inner === undefined ? "" : flattened(inner);
  if (typeof found === "string" || found.size < 2) return null;
  // What stands beside a whole item is about the line of the log: when it was written, and by which machine.
  if (likenessOf(found) !== unlike) return found;
  for (const [name, value] of fields)
    if (name !== column && !found.has(name)) found.set(name, value);
  return found;
}
