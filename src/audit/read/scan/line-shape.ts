import type { Columns } from "../item.ts";
import { roles } from "../item.ts";

/**
 * What is the same in many lines: keys and punctuation between the values, piece after piece, as the scanner reads it
 * (scanner/lines.ts). Of a piece, as numbers of four bytes, little-endian:
 *
 * - its length in bytes
 * - how many blocks of 16 bytes it takes
 * - what the value behind it is: its place in `roles`, `ignored` for one that nobody asks for, `ended` where the line ends
 * - 1 where that value is a string, which ends at the next quotation mark, 0 where it is a number, true or false
 *
 * Then each block, with a mask behind it of what counts in it.
 */
export type LineShape = Uint8Array<ArrayBuffer>;

export const ignored = -1;
export const ended = -2;

const blockSize = 16;

/**
 * The shape of a line that is one JSON object without escapes. Null where a piece by itself would not be what the whole line
 * says: a column that is asked for holds a list or an object, which is one value as text, or a key is there twice, of which
 * the last one counts.
 */
export function shapeOf(line: Uint8Array, columns: Columns): LineShape | null {
  const text = Buffer.from(line).toString("latin1");
  const pieces: Buffer[] = [];
  const keys = new Set<string>();
  let from = 0;
  for (const { what, start, end, path } of valuesIn(text)) {
    if (what === "key" && keys.has(path)) return null;
    if (what === "key") keys.add(path);
    if (what === "nested" && roleOf(path, columns) >= 0) return null;
    if (what !== "scalar") continue;
    pieces.push(pieceOf(text.slice(from, start), roleOf(path, columns), text[start - 1] === '"'));
    from = end;
  }
  pieces.push(pieceOf(`${text.slice(from).trimEnd()}${text.endsWith("\r") ? "\r" : ""}\n`, ended, false));
  return Uint8Array.from(Buffer.concat(pieces));
}

function roleOf(path: string, columns: Columns): number {
  // Of several roles of one column the first: the action, where a description holds it.
  return roles.findIndex((role) => columns[role]?.name === path);
}

function pieceOf(text: string, role: number, isText: boolean): Buffer {
  const blocks = Math.ceil(text.length / blockSize);
  const piece = Buffer.alloc(blockSize * (1 + 2 * blocks));
  for (const [index, number] of [text.length, blocks, role, isText ? 1 : 0].entries()) piece.writeInt32LE(number, index * 4);
  for (let block = 0; block < blocks; block++) {
    const at = blockSize * (1 + 2 * block);
    const length = piece.write(text.slice(block * blockSize, (block + 1) * blockSize), at, "latin1");
    piece.fill(0xff, at + blockSize, at + blockSize + length);
  }
  return piece;
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
