import type { Entry } from "../read/item.ts";
import { noEntry } from "../read/item.ts";
import type { EventKind } from "./events.ts";
import { eventCodes, eventKinds } from "./events.ts";

/** Number of items held back: an item that is no further out of order can be moved to its position. */
const windowSize = 4096;

/** Number of items passed on at a time. */
const atOnce = 512;

/** Room for the items held back. */
const room = 8192;

/**
 * Sorts items by time, stably, within a window. An item that comes later than the window allows is passed on out of order. They are held
 * as numbers: of objects that live as long, the runtime makes room for fifty megabytes.
 */
export class TimeOrder {
  readonly #pass: (entry: Entry) => void;
  /** Time and offset, and six other numbers of each item, in a ring. */
  readonly #doubles = new Float64Array(2 * room);
  readonly #words = new Int32Array(6 * room);
  #first = 0;
  #count = 0;
  #isSorted = true;
  #newest = Number.NEGATIVE_INFINITY;
  /** Number of items that came after a later one. */
  reordered = 0;

  /** `pass` is given the same object each time. */
  constructor(pass: (entry: Entry) => void) {
    this.#pass = pass;
  }

  add(entry: Entry): void {
    if (entry.time >= this.#newest) this.#newest = entry.time;
    else {
      this.#isSorted = false;
      this.reordered += 1;
    }
    this.#put(this.#count++, entry);
    if (this.#count === windowSize + atOnce) this.#release(atOnce);
  }

  /** Passes on the items that are still held back. */
  end(): void {
    this.#release(this.#count);
  }

  #release(count: number): void {
    if (!this.#isSorted) this.#sort();
    const entry = { ...noEntry };
    for (let index = 0; index < count; index++) this.#pass(this.#get(index, entry));
    this.#first += count;
    this.#count -= count;
  }

  #sort(): void {
    const held = Array.from({ length: this.#count }, (_, index) =>
      this.#get(index, { ...noEntry }),
    );
    held.sort((a, b) => a.time - b.time);
    for (const [index, entry] of held.entries()) this.#put(index, entry);
    this.#isSorted = true;
  }

  #put(index: number, entry: Entry): void {
    const place = (this.#first + index) % room;
    this.#doubles[2 * place] = entry.time;
    this.#doubles[2 * place + 1] = entry.offset;
    const word = 6 * place;
    this.#words[word] = entry.vault;
    this.#words[word + 1] = eventCodes[entry.event];
    this.#words[word + 2] = entry.input;
    this.#words[word + 3] = entry.line;
    this.#words[word + 4] = entry.length;
    this.#words[word + 5] = entry.idHash;
  }

  #get(index: number, entry: Entry): Entry {
    const place = (this.#first + index) % room;
    entry.time = this.#doubles[2 * place] as number;
    entry.offset = this.#doubles[2 * place + 1] as number;
    const word = 6 * place;
    entry.vault = this.#words[word] as number;
    entry.code = this.#words[word + 1] as number;
    entry.event = eventKinds[entry.code] as EventKind;
    entry.input = this.#words[word + 2] as number;
    entry.line = this.#words[word + 3] as number;
    entry.length = this.#words[word + 4] as number;
    entry.idHash = this.#words[word + 5] as number;
    return entry;
  }
}
