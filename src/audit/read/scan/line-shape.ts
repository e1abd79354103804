import type { Columns } from "../item.ts";
import { roles } from "../item.ts";
import { ended } from "./scanner-constants.ts";

/**
 * The part that many lines have in common: keys and punctuation between the values, in pieces that the scanner compares
 * (scanner/lines.ts). A piece begins with four little-endian integers of four bytes:
 *
 * - its length in bytes
 * - its number of blocks of 16 bytes
 * - the role of the value after it: an index in `roles`, -1 for a column without a role, `ended` at the end of the line
 * - 1 if that value is a string, which ends at the next quotation mark, 0 if it is a number, true or false
 *
 * After these, each block is followed by a mask of its significant bytes.
 */
export type LineShape = Uint8Array<ArrayBuffer>;

const blockSize = 16;

/**
 * Returns the shape of a line that is one JSON object without escapes. Returns null if values cannot be read one by one: a column with a
 * role holds an array or an object, which is one value as text, or a key is repeated, so that the last one counts.
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
  pieces.push(
    pieceOf(`${text.slice(from).trimEnd()}${text.endsWith("\r") ? "\r" : ""}\n`, ended, false),
  );
  return Uint8Array.from(Buffer.concat(pieces));
}

function roleOf(path: string, columns: Columns): number {
  // The first of several roles of one column: the action, if the description holds it.
  return roles.findIndex((role) => columns[role]?.name === path);
}

function pieceOf(text: string, role: number, isText: boolean): Buffer {
  const blocks = Math.ceil(text.length / blockSize);
  const piece = Buffer.alloc(blockSize * (1 + 2 * blocks));
  for (const [index, number] of [text.length, blocks, role, isText ? 1 : 0].entries())
    piece.writeInt32LE(number, index * 4);
  for (let block = 0; block < blocks; block++) {
    const at = blockSize * (1 + 2 * block);
    const length = piece.write(
      text.slice(block * blockSize, (block + 1) * blockSize),
      at,
      "latin1",
    );
    piece.fill(0xff, at + blockSize, at + blockSize + length);
  }
  return piece;
}

interface Found {
  what: "key" | "nested" | "scalar";
  start: number;
  end: number;
  /** Dotted keys; empty in an array, which has no columns. */
  path: string;
}

/** Yields keys, starts of objects and arrays, and scalar values, in order. Null counts as punctuation. */
function* valuesIn(text: string): Generator<Found> {
  const path: string[] = [];
  /** Length of the path before each open bracket. */
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
