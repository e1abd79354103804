import type { ItemLocation } from "../read/item.ts";
import type { EventKind } from "./events.ts";
import { eventKinds } from "./events.ts";

const conditions = ["active", "locked", "deleted"] as const;

export type Condition = (typeof conditions)[number];

/** State of a vault after an event. */
export interface After {
  unackedStarts: number;
  failedAttempts: number;
  isOpen: boolean;
  condition: Condition;
  /** Whether the event locked the vault. */
  locks: boolean;
}

/** An event of a vault. */
export interface Seen extends After {
  /** Milliseconds since the epoch. */
  time: number;
  location: ItemLocation;
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

/** Words of four bytes that an event takes. */
const width = 8;

const codes = Object.fromEntries(eventKinds.map((kind, code) => [kind, code])) as Record<
  EventKind,
  number
>;

const most16 = 0xffff;

/** The newest events of all vaults, in one piece of memory: an object for each would take four times as much. */
export class Rings {
  readonly #most: number;
  #words = new Int32Array(1024 * width);
  /** The same memory. */
  #doubles = new Float64Array(this.#words.buffer);
  readonly #contents: ItemLocation["content"][] = [];
  #used = 0;
  /** Room that is free again, by size. */
  readonly #free = new Map<number, number[]>();

  /** Keeps `most` events of a vault. */
  constructor(most: number) {
    this.#most = most;
  }

  create(): Ring {
    const size = Math.min(smallest, this.#most);
    return { base: this.#room(size), size, count: 0 };
  }

  push(ring: Ring, time: number, location: ItemLocation, after: After): void {
    const { input, line, event, content } = location;
    const slot = this.#next(ring);
    const word = slot * width;
    this.#doubles[word / 2] = time;
    const words = this.#words;
    words[word + 2] = line;
    words[word + 3] = (input << 8) | codes[event];
    words[word + 4] =
      (conditions.indexOf(after.condition) << 2) | (after.isOpen ? 2 : 0) | (after.locks ? 1 : 0);
    words[word + 5] =
      (Math.min(after.unackedStarts, most16) << 16) | Math.min(after.failedAttempts, most16);
    this.#contents[slot] = content;
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
    for (const { time, location, ...after } of this.events(from))
      this.push(into, time, location, after);
    this.free(from);
  }

  free({ base, size, count }: Ring): void {
    for (let slot = base; slot < base + Math.min(size, count); slot++) this.#contents[slot] = 0;
    const free = this.#free.get(size);
    if (free === undefined) this.#free.set(size, [base]);
    else free.push(base);
  }

  /** Returns the place of the next event. */
  #next(ring: Ring): number {
    if (ring.count === ring.size && ring.size < this.#most) this.#enlarge(ring);
    const slot = ring.base + (ring.count % ring.size);
    ring.count += 1;
    return slot;
  }

  #enlarge(ring: Ring): void {
    const { base, size } = ring;
    const larger = Math.min(4 * size, this.#most);
    const to = this.#room(larger);
    this.#words.copyWithin(to * width, base * width, (base + size) * width);
    for (let index = 0; index < size; index++)
      this.#contents[to + index] = this.#contents[base + index] as ItemLocation["content"];
    this.free(ring);
    ring.base = to;
    ring.size = larger;
  }

  #room(size: number): number {
    const free = this.#free.get(size)?.pop();
    if (free !== undefined) return free;
    const base = this.#used;
    this.#used += size;
    if (this.#used * width > this.#words.length) {
      const words = new Int32Array(2 * this.#used * width);
      words.set(this.#words);
      this.#words = words;
      this.#doubles = new Float64Array(words.buffer);
    }
    while (this.#contents.length < this.#used) this.#contents.push(0);
    return base;
  }

  #at(slot: number): Seen {
    const word = slot * width;
    const at = (index: number): number => this.#words[word + index] as number;
    return {
      time: this.#doubles[word / 2] as number,
      location: {
        line: at(2) >>> 0,
        input: at(3) >>> 8,
        event: eventKinds[at(3) & 0xff] as EventKind,
        content: this.#contents[slot] as ItemLocation["content"],
      },
      condition: conditions[at(4) >> 2] as Condition,
      isOpen: (at(4) & 2) !== 0,
      locks: (at(4) & 1) !== 0,
      unackedStarts: at(5) >>> 16,
      failedAttempts: at(5) & most16,
    };
  }
}
