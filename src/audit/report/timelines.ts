import type { Entry, ItemLocation } from "../read/item.ts";
import { locationOf } from "../read/item.ts";
import type { Vault } from "../fold/vault.ts";

/** An event of a vault, with the state after it. */
export interface TimelineEntry {
  item: ItemLocation;
  unackedStarts: number;
  failedAttempts: number;
  isOpen: boolean;
  condition: Vault["condition"];
  locks: boolean;
}

const maxHealthy = 6;

const isHealthy = ({ unackedStarts, failedAttempts, condition, doubts }: Vault): boolean =>
  unackedStarts === 0 &&
  failedAttempts === 0 &&
  condition === "active" &&
  doubts.contradictions.length === 0;

/** The newest events of each vault. */
export class Timelines {
  readonly #most: number;
  readonly #events = new Map<Vault, TimelineEntry[]>();
  readonly #omitted = new Map<Vault, number>();

  readonly #forgetsTheHealthy: boolean;

  /** Keeps `most` events of a vault or, with `forgetsTheHealthy`, only a few of a vault without problems. */
  constructor(most: number, forgetsTheHealthy: boolean) {
    this.#most = most;
    this.#forgetsTheHealthy = forgetsTheHealthy;
  }

  add(vault: Vault, entry: Entry, locks: boolean): void {
    let events = this.#events.get(vault);
    if (events === undefined) this.#events.set(vault, (events = []));
    const { unackedStarts, failedAttempts, pending, condition } = vault;
    const isOpen = pending !== undefined;
    events.push({
      item: locationOf(entry),
      unackedStarts,
      failedAttempts,
      isOpen,
      condition,
      locks,
    });
    // Cuts in steps, so that not every event moves all others.
    if (events.length >= this.#most * 2) this.#cut(vault, events, this.#most);
    else if (this.#forgetsTheHealthy && events.length > maxHealthy && isHealthy(vault))
      this.#cut(vault, events, maxHealthy);
  }

  of(vault: Vault): { events: readonly TimelineEntry[]; omitted: number } {
    const events = this.#events.get(vault) ?? [];
    if (events.length > this.#most) this.#cut(vault, events, this.#most);
    return { events, omitted: this.#omitted.get(vault) ?? 0 };
  }

  #cut(vault: Vault, events: TimelineEntry[], most: number): void {
    const omitted = events.length - most;
    events.splice(0, omitted);
    this.#omitted.set(vault, (this.#omitted.get(vault) ?? 0) + omitted);
  }
}
