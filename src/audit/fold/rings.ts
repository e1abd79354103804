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

/** Where the newest events of a vault are. */
export interface Ring {
  base: number;
  /** Room for so many events. */
  size: number;
  /** Number of events that it was given, which is its next place. */
  count: number;
}

/** First room of a ring, which grows: most vaults have few items. */
const smallest = 6;

/** Number of events on a page, and words of four bytes that an event takes. */
const pageSize = 8192;
const width = 8;

const most16 = 0xffff;

class Page {
  readonly words = new Int32Array(pageSize * width);
  /** The same memory. */
  readonly doubles = new Float64Array(this.words.buffer);
}

/** The newest events of all vaults, on pages of memory: an object for each would take four times as much. */
export class Rings {
  readonly #most: number;
  readonly #pages: Page[] = [];
  /** The first place that was never used. */
  #unused = 0;
  /** Room that is free again, by size. */
  readonly #free = new Map<number, number[]>();

  /** Keeps `most` events of a vault. */
  constructor(most: number) {
    this.#most = Math.min(most, pageSize);
  }

  create(): Ring {
    const size = Math.min(smallest, this.#most);
    return { base: this.#room(size), size, count: 0 };
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
    if (ring.count === ring.size && ring.size < this.#most) this.#enlarge(ring);
    const place = ring.base + (ring.count % ring.size);
    ring.count += 1;
    const { words, doubles } = this.#pageOf(place);
    const word = (place % pageSize) * width;
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
    const { base, size, count } = ring;
    const kept = Math.min(count, size);
    return Array.from({ length: kept }, (_, index) =>
      this.#at(base + ((count - kept + index) % size)),
    );
  }

  /** Moves the events of a ring behind those of another one. */
  append(into: Ring, from: Ring): void {
    for (const seen of this.events(from))
      this.push(into, seen.time, eventCodes[seen.event], seen, seen, seen.isOpen, seen.locks);
    this.#release(from);
  }

  #enlarge(ring: Ring): void {
    const size = Math.min(4 * ring.size, this.#most);
    const base = this.#room(size);
    for (let index = 0; index < ring.size; index++) {
      const place = ring.base + ((ring.count + index) % ring.size);
      const from = (place % pageSize) * width;
      this.#pageOf(base + index).words.set(
        this.#pageOf(place).words.subarray(from, from + width),
        ((base + index) % pageSize) * width,
      );
    }
    this.#release(ring);
    Object.assign(ring, { base, size, count: ring.size });
  }

  #pageOf(place: number): Page {
    return this.#pages[(place / pageSize) | 0] as Page;
  }

  #release({ base, size }: Ring): void {
    const free = this.#free.get(size);
    if (free === undefined) this.#free.set(size, [base]);
    else free.push(base);
  }

  /** Returns the first place of room on one page. */
  #room(size: number): number {
    const free = this.#free.get(size)?.pop();
    if (free !== undefined) return free;
    const left = pageSize - (this.#unused % pageSize);
    if (left < size) this.#unused += left;
    const base = this.#unused;
    this.#unused += size;
    if (this.#pages.length * pageSize < this.#unused) this.#pages.push(new Page());
    return base;
  }

  #at(place: number): Seen {
    const { words, doubles } = this.#pageOf(place);
    const word = (place % pageSize) * width;
    const at = (index: number): number => words[word + index] as number;
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
