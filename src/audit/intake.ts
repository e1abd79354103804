import { Fold } from "./fold/fold.ts";
import type { Entry, Item, ItemLocation } from "./read/item.ts";
import { TimeOrder } from "./fold/order.ts";
import { Overlap } from "./fold/overlap.ts";
import type { Selection } from "./selection.ts";
import type { VaultTable } from "./fold/vault-table.ts";
import type { WhatIf } from "./flags.ts";
import type { Rules } from "../documents/audit.ts";

/** What of the items counts, and by which rules. */
export interface IntakeOptions {
  rules: Rules;
  /** UUID of the only vault to replay, or its first digits, in either case. */
  vault?: string;
  /** First and last time of items to replay, in milliseconds since the epoch. */
  since?: number;
  until?: number;
  /** Events to keep for timelines: those of the one vault, or the newest of every vault. */
  timeline: "none" | "vault" | "problems";
  whatIf?: WhatIf;
  /** Current time, on which advice depends, too, in milliseconds since the epoch. */
  now: number;
}

/** Number of events kept of a vault: enough to explain a lock, or for a timeline. */
const kept = { none: 24, vault: 5000, problems: 40 };

/** Maximum difference between clocks, a day: later items are in the future. */
const clockSkew = 86_400_000;

/** Passes the wanted items of all inputs to the fold in order of time, and counts the others. */
export class Intake {
  readonly fold: Fold;
  /** Fold with the change of --what-if. */
  readonly changed: { whatIf: WhatIf; fold: Fold } | undefined;
  readonly #selection: Selection | undefined;
  readonly #itemOf: (location: ItemLocation) => Item;
  readonly #vaults: VaultTable;
  readonly #since: number;
  readonly #until: number;
  readonly #future: number;
  readonly #overlap = new Overlap();
  /** Takes the items. */
  readonly order = new TimeOrder(
    (entry) => this.#overlap.learn(entry),
    (entry) => this.#take(entry),
  );
  items = 0;
  vaultItems = 0;
  /** Numbers of items about the application, without a vault, and of wanted vaults with an unknown action. */
  readonly counts = { unknownItems: 0, applicationItems: 0, withoutVault: 0 };
  /** Number of items in the future. */
  future = 0;
  newest = Number.NEGATIVE_INFINITY;

  constructor(
    { rules, whatIf, timeline, since, until, now }: IntakeOptions,
    vaults: VaultTable,
    selection: Selection | undefined,
    itemOf: (location: ItemLocation) => Item,
  ) {
    this.#selection = selection;
    this.#itemOf = itemOf;
    this.#vaults = vaults;
    this.#since = since ?? Number.NEGATIVE_INFINITY;
    this.#until = until ?? Number.POSITIVE_INFINITY;
    this.#future = now + clockSkew;
    const shared = { table: vaults, overlap: this.#overlap, itemOf, events: kept[timeline] };
    this.fold = new Fold({ ...shared, rules });
    if (whatIf !== undefined) {
      const limits = { ...rules.limits, ...whatIf.limits };
      this.changed = {
        whatIf,
        fold: new Fold({ ...shared, rules: { ...rules, limits }, isHypothetical: true }),
      };
    }
  }

  /** Number of items that several inputs have, or that have the same id. */
  get duplicates(): number {
    return this.#overlap.count;
  }

  #take(entry: Entry): void {
    const { time, vault, event } = entry;
    if (time < this.#since || time > this.#until) return;
    this.items += 1;
    if (event === "application") {
      this.counts.applicationItems += 1;
      return;
    }
    if (time > this.#future) this.future += 1;
    else if (time > this.newest) this.newest = time;
    if (vault < 0) {
      this.counts.withoutVault += 1;
      return;
    }
    this.vaultItems += 1;
    if (!this.#vaults.isWanted(vault)) return;
    this.#selection?.take(entry, this.#itemOf);
    if (event === "other") this.counts.unknownItems += 1;
    if (this.fold.take(entry)) this.changed?.fold.take(entry);
  }
}
