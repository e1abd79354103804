import type { Literal } from "./bytes.ts";
import { literal } from "./bytes.ts";
import type { Columns } from "./item.ts";
import { roles } from "./item.ts";

/** A piece of a line that is the same in many: keys and punctuation up to the next value, or to the end of the object. */
export interface Piece {
  literal: Literal;
  text: string;
  /** Of the value behind it, its place in `roles`; -1 for one that nobody asks for. */
  role: number;
  /** The value behind it is a string: it ends at the next quotation mark. Else it is a number. */
  isText: boolean;
  /** It ends the object. */
  isEnd: boolean;
  /** What may follow the value. */
  next: Piece[];
}

/** Lines come in few shapes; where they do not, more pieces cost more than they save. */
const mostPieces = 2000;

/**
 * The shapes of the lines of one input: which keys in which order, with which spaces, nested or not. A tree, since optional and
 * reordered keys share what stands before them. Learned from lines that JSON.parse has read.
 */
export class LineShapes {
  readonly first: Piece[] = [];
  readonly #roles = new Map<string, number>();
  #pieces = 0;

  constructor(columns: Columns) {
    for (const [number, role] of roles.entries()) {
      const name = columns[role]?.name;
      if (name !== undefined && !this.#roles.has(name)) this.#roles.set(name, number);
    }
  }

  /** Learns the shape of a line that is one JSON object without escapes. */
  learn(line: Uint8Array): void {
    const text = Buffer.from(line).toString("latin1");
    let pieces = this.first;
    let from = 0;
    for (const { start, end, path } of scalars(text)) {
      const piece = this.#piece(pieces, text.slice(from, start), this.#roles.get(path) ?? -1, text[start - 1] === '"');
      if (piece === undefined) return;
      pieces = piece.next;
      from = end;
    }
    this.#piece(pieces, text.slice(from).trimEnd(), -1, false, true);
  }

  #piece(among: Piece[], text: string, role: number, isText: boolean, isEnd = false): Piece | undefined {
    const known = among.find((piece) => piece.isText === isText && piece.isEnd === isEnd && piece.text === text);
    if (known !== undefined || this.#pieces === mostPieces) return known;
    this.#pieces += 1;
    const piece = { literal: literal(Buffer.from(text, "latin1")), text, role, isText, isEnd, next: [] };
    // A number's piece is where a text's may begin, so that texts are tried first.
    if (isText) among.unshift(piece);
    else among.push(piece);
    return piece;
  }
}

interface Scalar {
  start: number;
  end: number;
  path: string;
}

/** Strings and numbers that are values, in order, with the keys that lead to them; true, false and null count as punctuation. */
function* scalars(text: string): Generator<Scalar> {
  const path: string[] = [];
  /** For each open bracket, how many keys stood in the path before it; -1 for arrays, whose content is no column. */
  const open: { depth: number; isArray: boolean }[] = [];
  const tokens = /"([^"]*)"(\s*:)?|-?\d[\d.eE+-]*|[{}[\],]/g;
  for (const token of text.matchAll(tokens)) {
    const [whole, content, colon] = token;
    const inArray = open.some(({ isArray }) => isArray);
    if (whole === "{" || whole === "[") open.push({ depth: path.length, isArray: whole === "[" });
    else if (whole === "}" || whole === "]") path.length = open.pop()?.depth ?? 0;
    else if (whole === ",") path.length = open.at(-1)?.depth ?? 0;
    else if (colon !== undefined) path.push(content as string);
    else {
      const isText = content !== undefined;
      const start = token.index + (isText ? 1 : 0);
      yield { start, end: start + (content ?? whole).length, path: inArray ? "" : path.join(".") };
    }
  }
}
