/** A record of an export, before the meaning of its columns is known. */
export interface AuditRecord {
  /** Line where the record begins, or index in a JSON array; from 1. */
  line: number;
  /** Values by column, without empty ones. */
  fields: ReadonlyMap<string, string>;
  /** NDJSON: the line. */
  text?: string;
}

/**
 * Called for each line or element that is not a record. The reason is safe on a terminal. `isCut`: the input is cut off there or cannot
 * be read any further, so that what comes after is missing. `text`: what could not be read, which may name vaults.
 */
export type SkipLine = (line: number, reason: string, isCut?: boolean, text?: string) => void;

/** Depth below which values are kept as JSON text. */
const deepest = 8;

/** Maximum number of columns in a record. A line of 1 MiB could have a hundred thousand; no export does. */
const maxColumns = 2000;

/**
 * Returns the columns of a JSON object: nested objects by dotted names (`vault.uuid`), arrays as JSON text, numbers and booleans as text,
 * without null and empty strings. A Map, so that a key like `__proto__` is safe.
 *
 * @throws RangeError for an array nested too deeply for JSON.stringify.
 */
export function flatten(value: object): Map<string, string> {
  const fields = new Map<string, string>();
  collect(fields, "", value, 1);
  return fields;
}

function collect(fields: Map<string, string>, prefix: string, value: object, depth: number): void {
  for (const [key, child] of Object.entries(value) as [string, unknown][]) {
    if (fields.size >= maxColumns) return;
    const name = prefix + key;
    if (typeof child === "string") {
      if (child !== "") fields.set(name, child);
    } else if (typeof child === "number" || typeof child === "boolean") {
      fields.set(name, String(child));
    } else if (typeof child === "object" && child !== null) {
      if (!Array.isArray(child) && depth < deepest) collect(fields, `${name}.`, child, depth + 1);
      else fields.set(name, JSON.stringify(child));
    }
  }
}

/** Parses a line of NDJSON as an object, or returns why it is not one. Integers beyond 2^53 become strings, to keep their digits. */
export function parseObject(
  text: string,
): { value: object; reason?: undefined } | { value?: undefined; reason: string } {
  let value: unknown;
  // Rejects what cannot be JSON without the cost of an exception.
  if (!/^\s*["{[\dtfn-]/.test(text)) return { reason: "not JSON" };
  try {
    value = JSON.parse(text);
    if (hasLongNumber.test(text))
      value = JSON.parse(text, keepDigits as Parameters<typeof JSON.parse>[1]);
  } catch (error) {
    return { reason: error instanceof RangeError ? "nested too deeply" : "not JSON" };
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { value };
  return { reason: `${kindOf(value)}, not an object` };
}

const hasLongNumber = /[:,[\s]-?\d{16}/;

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)
    ? (context?.source ?? value)
    : value;
}

export function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  return value === null ? "null" : `a ${typeof value}`;
}
