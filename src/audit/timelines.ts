import type { Condition } from "./conditions.ts";
import { conditionOf } from "./conditions.ts";
import { eventKinds } from "./events.ts";
import type { Fold } from "./fold.ts";
import type { Item } from "./item.ts";
import type { Due } from "./time-order.ts";
import { small } from "./vault-records.ts";

/** An event as it was taken in. */
export interface Happening {
  place: number;
  line: number;
  event: (typeof eventKinds)[number];
  item: Item | undefined;
  unackedStarts: number;
  failedAttempts: number;
  isOpen: boolean;
  condition: Condition;
  locks: boolean;
}

/** What happened to each vault, the newest events of it. */
export class Timelines {
  readonly #most: number;
  readonly #events = new Map<number, Happening[]>();
  readonly #omitted = new Map<number, number>();

  /** At most so many events of a vault. */
  constructor(most: number) {
    this.#most = most;
  }

  add(fold: Fold, { vault, place, line, kind, item }: Due, locks: boolean): void {
    const { records } = fold;
    let events = this.#events.get(vault);
    if (events === undefined) this.#events.set(vault, (events = []));
    events.push({
      place,
      line,
      event: eventKinds[kind] as Happening["event"],
      item,
      unackedStarts: records.getSmall(vault, small.unacked),
      failedAttempts: records.getSmall(vault, small.failed),
      isOpen: records.getSmall(vault, small.pending) !== 0,
      condition: conditionOf(fold.records, vault),
      locks,
    });
    // In steps, so that not every event moves all others.
    if (events.length >= this.#most * 2) this.#cut(vault, events);
  }

  of(vault: number): { events: readonly Happening[]; omitted: number } {
    const events = this.#events.get(vault) ?? [];
    if (events.length > this.#most) this.#cut(vault, events);
    return { events, omitted: this.#omitted.get(vault) ?? 0 };
  }

  #cut(vault: number, events: Happening[]): void {
    const omitted = events.length - this.#most;
    events.splice(0, omitted);
    this.#omitted.set(vault, (this.#omitted.get(vault) ?? 0) + omitted);
  }
}
