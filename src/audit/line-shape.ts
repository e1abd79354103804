import type { Columns } from "./item.ts";
import { roles } from "./item.ts";

/**
 * What is the same in many lines: keys and punctuation between the values, piece after piece, as whole numbers. Of a piece:
 *
 * - its length in bytes
 * - how many of its words (4 bytes, little-endian) are whole
 * - what the value behind it is: its place in `roles`, `ignored` for one that nobody asks for, `ended` where the line ends
 * - 1 where that value is a string, which ends at the next quotation mark, 0 where it is a number, true or false
 * - the whole words, then a mask for the word behind them, and that word under the mask
 */
export type LineShape = Int32Array<ArrayBuffer>;

export const ignored = -1;
export const ended = -2;

/**
 * The shape of a line that is one JSON object without escapes. Null where a piece by itself would not be what the whole line
 * says: a column that is asked for holds a list or an object, which is one value as text, or a key is there twice, of which
 * the last one counts.
 */
export function shapeOf(line: Uint8Array, columns: Columns): LineShape | null {
  const text = Buffer.from(line).toString("latin1");
  const numbers: number[] = [];
  const keys = new Set<string>();
  let from = 0;
  for (const { what, start, end, path } of valuesIn(text)) {
    if (what === "key" && keys.has(path)) return null;
    if (what === "key") keys.add(path);
    if (what === "nested" && roleOf(path, columns) >= 0) return null;
    if (what !== "scalar") continue;
    addPiece(numbers, text.slice(from, start), roleOf(path, columns), text[start - 1] === '"');
    from = end;
  }
  addPiece(numbers, `${text.slice(from).trimEnd()}${text.endsWith("\r") ? "\r" : ""}\n`, ended, false);
  return Int32Array.from(numbers);
}

function roleOf(path: string, columns: Columns): number {
  // Of several roles of one column the first: the action, where a description holds it.
  return roles.findIndex((role) => columns[role]?.name === path);
}

function addPiece(numbers: number[], text: string, role: number, isText: boolean): void {
  const bytes = Buffer.concat([Buffer.from(text, "latin1"), Buffer.alloc(4)]);
  const whole = text.length >> 2;
  const mask = (1 << ((text.length & 3) * 8)) - 1;
  const words = Array.from({ length: whole }, (_, index) => bytes.readInt32LE(index * 4));
  numbers.push(text.length, whole, role, isText ? 1 : 0, ...words, mask, bytes.readInt32LE(whole * 4) & mask);
}

interface Found {
  what: "key" | "nested" | "scalar";
  start: number;
  end: number;
  /** The keys that lead to it; empty in an array, which has no columns. */
  path: string;
}

/** Keys, the beginnings of objects and arrays, and strings, numbers, true and false that are values, in order; null counts as punctuation. */
function* valuesIn(text: string): Generator<Found> {
  const path: string[] = [];
  /** For each open bracket, how many keys stood in the path before it. What is in an array is no column. */
  const open: { depth: number; isArray: boolean }[] = [];
  const tokens = /"([^"]*)"(\s*:)?|-?\d[\d.eE+-]*|true|false|[{}[\],]/g;
  for (const token of text.matchAll(tokens)) {
    const [whole, content, colon] = token;
    const inArray = open.some(({ isArray }) => isArray);
    const found = (what: Found["what"], start = token.index, end = start): Found => ({
      what,
      start,
      end,
      path: inArray ? "" : path.join("."),
    });
    if (whole === "{" || whole === "[") {
      if (!inArray) yield found("nested");
      open.push({ depth: path.length, isArray: whole === "[" });
    } else if (whole === "}" || whole === "]") path.length = open.pop()?.depth ?? 0;
    else if (whole === ",") path.length = open.at(-1)?.depth ?? 0;
    else if (colon !== undefined) {
      path.push(content as string);
      if (!inArray) yield found("key");
    } else {
      const start = token.index + (content === undefined ? 0 : 1);
      yield found("scalar", start, start + (content ?? whole).length);
    }
  }
}
