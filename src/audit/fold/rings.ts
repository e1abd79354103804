import type { ItemLocation } from "../read/item.ts";
import type { EventKind } from "./events.ts";
import { eventCodes, eventKinds } from "./events.ts";

const conditions = ["active", "locked", "deleted"] as const;

export type Condition = (typeof conditions)[number];

/** State of a vault after an event. */
interface After {
  unackedStarts: number;
  failedAttempts: number;
  condition: Condition;
}

/** An event of a vault. */
export interface Seen extends After, ItemLocation {
  /** Milliseconds since the epoch. */
  time: number;
  /** Whether an exchange was open after it, and whether it locked the vault. */
  isOpen: boolean;
  locks: boolean;
}

/** Place of the newest events of a vault. */
export interface Ring {
  /** Number of the ring. */
  ring: number;
  /** Number of events that it was given. */
  count: number;
}

/** Words of four bytes that an event takes, and about the number of events on a page. */
const width = 8;
const pageSize = 8192;

const most16 = 0xffff;

class Page {
  readonly words: Int32Array;
  /** The same memory. */
  readonly doubles: Float64Array;

  constructor(events: number) {
    this.words = new Int32Array(events * width);
    this.doubles = new Float64Array(this.words.buffer);
  }
}

/** The newest events of all vaults, on pages of memory: an object for each would take four times as much. */
export class Rings {
  /** Number of events in a ring, and of rings on a page. */
  readonly #size: number;
  readonly #perPage: number;
  readonly #pages: Page[] = [];
  #count = 0;
  readonly #free: number[] = [];

  /** Keeps `size` events of a vault. */
  constructor(size: number) {
    this.#size = size;
    this.#perPage = Math.ceil(pageSize / size);
  }

  create(): Ring {
    const ring = this.#free.pop() ?? this.#count++;
    if (ring >= this.#pages.length * this.#perPage)
      this.#pages.push(new Page(this.#perPage * this.#size));
    return { ring, count: 0 };
  }

  /** `code`: place of the event in `eventKinds`. */
  push(
    ring: Ring,
    time: number,
    code: number,
    at: ItemLocation,
    after: After,
    isOpen: boolean,
    locks: boolean,
  ): void {
    const { words, doubles } = this.#pages[(ring.ring / this.#perPage) | 0] as Page;
    const word = this.#wordOf(ring, ring.count);
    ring.count += 1;
    const { condition } = after;
    const state = condition === "active" ? 0 : condition === "locked" ? 1 : 2;
    doubles[word >> 1] = time;
    words[word + 2] = at.line;
    words[word + 3] = (at.input << 8) | code;
    words[word + 4] = (at.length << 4) | (state << 2) | (isOpen ? 2 : 0) | (locks ? 1 : 0);
    words[word + 5] =
      (Math.min(after.unackedStarts, most16) << 16) | Math.min(after.failedAttempts, most16);
    doubles[(word >> 1) + 3] = at.offset;
  }

  /** Returns the events, oldest first. */
  events(ring: Ring | undefined): Seen[] {
    if (ring === undefined) return [];
    const kept = Math.min(ring.count, this.#size);
    return Array.from({ length: kept }, (_, index) => this.#at(ring, ring.count - kept + index));
  }

  /** Moves the events of a ring behind those of another one. */
  append(into: Ring, from: Ring): void {
    for (const seen of this.events(from))
      this.push(into, seen.time, eventCodes[seen.event], seen, seen, seen.isOpen, seen.locks);
    this.#free.push(from.ring);
  }

  /** Returns where an event is on the page of its ring. */
  #wordOf({ ring }: Ring, index: number): number {
    return ((ring % this.#perPage) * this.#size + (index % this.#size)) * width;
  }

  #at(ring: Ring, index: number): Seen {
    const { words, doubles } = this.#pages[(ring.ring / this.#perPage) | 0] as Page;
    const word = this.#wordOf(ring, index);
    const at = (number: number): number => words[word + number] as number;
    return {
      time: doubles[word / 2] as number,
      line: at(2) >>> 0,
      input: at(3) >>> 8,
      event: eventKinds[at(3) & 0xff] as EventKind,
      offset: doubles[word / 2 + 3] as number,
      length: at(4) >>> 4,
      condition: conditions[(at(4) >> 2) & 3] as Condition,
      isOpen: (at(4) & 2) !== 0,
      locks: (at(4) & 1) !== 0,
      unackedStarts: at(5) >>> 16,
      failedAttempts: at(5) & most16,
    };
  }
}
