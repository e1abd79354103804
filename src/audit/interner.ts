import type { Literal } from "./bytes.ts";
import { literal, standsAt } from "./bytes.ts";

/** Numbers from 0 for the few different texts of a column, found by their bytes. */
export class Interner {
  readonly #limit: number;
  readonly #literals: Literal[] = [];
  readonly #texts: string[] = [];
  #last = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The number of the known text that stands at a place with the byte `closing` behind it; -1 where none does. */
  at(view: DataView, bytes: Uint8Array, from: number, end: number, closing: number): number {
    const literals = this.#literals;
    // Most often it is the one that stood there before.
    if (this.#last < literals.length && stands(literals[this.#last] as Literal, view, bytes, from, end, closing)) return this.#last;
    for (let number = 0; number < literals.length; number++) {
      if (stands(literals[number] as Literal, view, bytes, from, end, closing)) return (this.#last = number);
    }
    return -1;
  }

  /** The number of the text between two places, known or new; -1 where there are too many already. */
  of(bytes: Uint8Array, from: number, to: number): number {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("utf8");
    const known = this.#texts.indexOf(text);
    if (known >= 0 || this.#texts.length === this.#limit) return known;
    this.#literals.push(literal(bytes.slice(from, to)));
    return this.#texts.push(text) - 1;
  }

  text(number: number): string {
    return this.#texts[number] as string;
  }

  /** In bytes. */
  length(number: number): number {
    return (this.#literals[number] as Literal).length;
  }
}

function stands(one: Literal, view: DataView, bytes: Uint8Array, from: number, end: number, closing: number): boolean {
  const to = from + one.length;
  return to < end && bytes[to] === closing && standsAt(one, view, bytes, from);
}
