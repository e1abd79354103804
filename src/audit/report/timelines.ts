import type { Condition } from "../fold/vault-records.ts";
import { conditionOf, intField } from "../fold/vault-records.ts";
import { eventKinds } from "../fold/events.ts";
import type { Fold } from "../fold/fold.ts";
import type { Item } from "../read/item.ts";
import type { DueItem } from "../fold/time-order.ts";

/** An event of a vault, with the state after it. */
export interface TimelineEntry {
  location: number;
  line: number;
  event: (typeof eventKinds)[number];
  item: Item | undefined;
  unackedStarts: number;
  failedAttempts: number;
  isOpen: boolean;
  condition: Condition;
  locks: boolean;
}

const maxHealthy = 6;

const isHealthy = ({ records, contradictions }: Fold, vault: number): boolean =>
  records.getInt(vault, intField.unacked) === 0 &&
  records.getInt(vault, intField.failed) === 0 &&
  conditionOf(records, vault) === "active" &&
  !contradictions.has(vault);

/** The newest events of each vault. */
export class Timelines {
  readonly #most: number;
  readonly #events = new Map<number, TimelineEntry[]>();
  readonly #omitted = new Map<number, number>();

  readonly #forgetsTheHealthy: boolean;

  /** Keeps `most` events of a vault or, with `forgetsTheHealthy`, only a few of a vault without problems. */
  constructor(most: number, forgetsTheHealthy: boolean) {
    this.#most = most;
    this.#forgetsTheHealthy = forgetsTheHealthy;
  }

  add(fold: Fold, { vault, location, line, kind, item }: DueItem, locks: boolean): void {
    const { records } = fold;
    let events = this.#events.get(vault);
    if (events === undefined) this.#events.set(vault, (events = []));
    events.push({
      location,
      line,
      event: eventKinds[kind] as TimelineEntry["event"],
      item,
      unackedStarts: records.getInt(vault, intField.unacked),
      failedAttempts: records.getInt(vault, intField.failed),
      isOpen: records.getInt(vault, intField.pending) !== 0,
      condition: conditionOf(fold.records, vault),
      locks,
    });
    // Cuts in steps, so that not every event moves all others.
    if (events.length >= this.#most * 2) this.#cut(vault, events, this.#most);
    else if (this.#forgetsTheHealthy && events.length > maxHealthy && isHealthy(fold, vault))
      this.#cut(vault, events, maxHealthy);
  }

  of(vault: number): { events: readonly TimelineEntry[]; omitted: number } {
    const events = this.#events.get(vault) ?? [];
    if (events.length > this.#most) this.#cut(vault, events, this.#most);
    return { events, omitted: this.#omitted.get(vault) ?? 0 };
  }

  #cut(vault: number, events: TimelineEntry[], most: number): void {
    const omitted = events.length - most;
    events.splice(0, omitted);
    this.#omitted.set(vault, (this.#omitted.get(vault) ?? 0) + omitted);
  }
}
