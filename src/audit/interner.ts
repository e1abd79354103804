/** Places in the table, a power of two. */
const places = 1024;

/** More different texts are not numbered. */
export const mostTexts = 200;

/** Numbers from 0 for the few different texts of a column, found by their bytes. */
export class Interner {
  readonly #texts: string[] = [];
  /** By hash: the number of a text and one more; 0 is a free place. */
  readonly #table = new Uint8Array(places);
  /** The bytes of all texts behind each other, and where each begins. */
  readonly #bytes = new Uint8Array(mostTexts * 64);
  readonly #starts = new Int32Array(mostTexts + 1);

  /** The number of the text between two places; -1 where there are too many already, or it is too long. */
  of(bytes: Uint8Array, from: number, to: number): number {
    const hash = (to - from) * 31 + (bytes[from] as number) * 7 + (bytes[(from + to) >> 1] as number) * 3 + (bytes[to - 1] as number);
    for (let place = hash & (places - 1); ; place = (place + 1) & (places - 1)) {
      const number = (this.#table[place] as number) - 1;
      if (number < 0) return this.#add(bytes, from, to, place);
      if (this.#is(number, bytes, from, to)) return number;
    }
  }

  text(number: number): string {
    return this.#texts[number] as string;
  }

  #is(number: number, bytes: Uint8Array, from: number, to: number): boolean {
    const start = this.#starts[number] as number;
    if ((this.#starts[number + 1] as number) - start !== to - from) return false;
    for (let at = from; at < to; at++) if (this.#bytes[start + at - from] !== bytes[at]) return false;
    return true;
  }

  #add(bytes: Uint8Array, from: number, to: number, place: number): number {
    const number = this.#texts.length;
    const start = this.#starts[number] as number;
    if (number === mostTexts || start + to - from > this.#bytes.length) return -1;
    const text = bytes.slice(from, to);
    this.#bytes.set(text, start);
    this.#starts[number + 1] = start + text.length;
    this.#table[place] = number + 1;
    return this.#texts.push(Buffer.from(text).toString("utf8")) - 1;
  }
}
