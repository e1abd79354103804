import type { Entry } from "../read/item.ts";
import { noEntry } from "../read/item.ts";
import { Rows } from "./order.ts";

/** State of a vault after an event. */
interface After {
  unackedStarts: number;
  failedAttempts: number;
  /** Of the open exchange, or 0. */
  pending: number;
  /** Absent for a vault that is neither locked nor deleted. */
  ended: "locked" | "deleted" | undefined;
}

/** An event of a vault. */
export interface Seen extends Entry, After {
  /** Whether it locked the vault. */
  locks: boolean;
}

const endings = [undefined, "locked", "deleted"] as const;
const most = 0xfff;

/** Number of events on a page, about. */
const pageSize = 8192;

/** The newest events of all vaults. */
export class Rings {
  /** Number of events in a ring, and of rings on a page. */
  readonly #size: number;
  readonly #perPage: number;
  readonly #pages: Rows[] = [];
  #count = 0;

  /** Keeps `size` events in each ring. */
  constructor(size: number) {
    this.#size = size;
    this.#perPage = Math.ceil(pageSize / size);
  }

  /** Returns the number of a new ring. */
  create(): number {
    if (this.#count === this.#pages.length * this.#perPage)
      this.#pages.push(new Rows(this.#perPage * this.#size));
    return this.#count++;
  }

  /** Adds an event to a ring that was given `count` before. */
  push(ring: number, count: number, entry: Entry, after: After, locks: boolean): void {
    const { unackedStarts, failedAttempts, pending, ended } = after;
    const counters = (Math.min(unackedStarts, most) << 12) | Math.min(failedAttempts, most);
    const flags =
      (pending << 3) | (ended === undefined ? 0 : ended === "locked" ? 2 : 4) | (locks ? 1 : 0);
    this.#pageOf(ring).set(this.#rowOf(ring, count), entry, (counters << 5) | flags);
  }

  /** Returns the events of a ring that was given `count`, oldest first. */
  events(ring: number, count: number): Seen[] {
    const kept = Math.min(count, this.#size);
    return Array.from({ length: kept }, (_, index): Seen => {
      const row = this.#rowOf(ring, count - kept + index);
      const entry = this.#pageOf(ring).get(row, { ...noEntry });
      const { idHash: state } = entry;
      return {
        ...entry,
        unackedStarts: (state >> 17) & most,
        failedAttempts: (state >> 5) & most,
        pending: (state >> 3) & 3,
        ended: endings[(state >> 1) & 3],
        locks: (state & 1) !== 0,
      };
    });
  }

  #pageOf(ring: number): Rows {
    return this.#pages[(ring / this.#perPage) | 0] as Rows;
  }

  #rowOf(ring: number, index: number): number {
    return (ring % this.#perPage) * this.#size + (index % this.#size);
  }
}
