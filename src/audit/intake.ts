import { setImmediate } from "node:timers/promises";
import type { Rules } from "../documents/audit.ts";
import type { Condition, WhatIf } from "./flags.ts";
import { roleOf } from "./flags.ts";
import { Fold } from "./fold/fold.ts";
import { TimeOrder } from "./fold/order.ts";
import { Overlap } from "./fold/overlap.ts";
import type { VaultTable } from "./fold/vault-table.ts";
import { Input, type InputSpec } from "./read/input.ts";
import { type Entry, type Item, type ItemLocation, properties } from "./read/item.ts";
import { type EntryOptions, Skips, Source } from "./read/source.ts";

export interface InputOptions {
  inputs: readonly InputSpec[];
  /** Items of this machine's journal, oldest first, instead of inputs. */
  journal?: Iterable<Item> | undefined;
  progress?: (bytesRead: number, totalBytes: number | null, items: number) => void;
}

/** The inputs of a replay, which are read once. */
export class Inputs {
  readonly sources: Source[] = [];
  readonly skips = new Skips();
  readonly #inputs: Input[] = [];

  /**
   * Opens the inputs and reads all their items. Those of a single input that has the oldest first pass on as they are read.
   *
   * @throws what opening and reading throw.
   */
  async read(
    { inputs, journal, progress }: InputOptions,
    shared: Omit<EntryOptions, "index">,
    order: TimeOrder,
  ): Promise<void> {
    const specs = journal === undefined ? inputs : [{ name: "journal", stream: linesOf(journal) }];
    const columns = journal && journalColumns;
    for (const [index, spec] of specs.entries()) {
      const input = new Input(spec);
      this.#inputs.push(input);
      await input.open((bytes) => progress?.(bytes, null, 0));
      this.sources.push(await Source.open(input, { ...shared, index, columns }, this.skips));
    }
    const total = this.#inputs.reduce((sum, { size }) => sum + size, 0);
    // The first of two duplicates counts: it should come from the input with more recognized columns.
    const known = ({ report }: Source): number => Object.keys(report.columns).length;
    let [bytes, items] = [0, 0];
    for (const source of this.sources.toSorted((a, b) => known(b) - known(a))) {
      const { input, report } = source;
      const isNewestFirst = report.order === "newest-first";
      order.begin(isNewestFirst);
      for (const read of source.read(order)) {
        if (specs.length === 1 && !isNewestFirst) order.release(false);
        progress?.(bytes + read, total, items + report.items);
        // Handles signals.
        await setImmediate();
      }
      order.end();
      bytes += input.size;
      items += report.items;
    }
  }

  close(): void {
    for (const input of this.#inputs) input.close();
  }
}

/** Columns of the lines that the journal is written in. */
const journalColumns = Object.fromEntries(
  Object.entries(properties).map(([role, name]) => [role, { name, by: "name" as const }]),
);

function* linesOf(journal: Iterable<Item>): Generator<Uint8Array> {
  for (const item of journal) yield Buffer.from(`${JSON.stringify(item)}\n`);
}

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
  readonly #options: IntakeOptions;
  readonly #selection: Selection | undefined;
  readonly #itemOf: (location: ItemLocation) => Item;
  readonly #vaults: VaultTable;
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
    options: IntakeOptions,
    vaults: VaultTable,
    selection: Selection | undefined,
    itemOf: (location: ItemLocation) => Item,
  ) {
    const { rules, whatIf, timeline } = options;
    this.#options = options;
    this.#selection = selection;
    this.#itemOf = itemOf;
    this.#vaults = vaults;
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
    const { since, until, now } = this.#options;
    if ((since !== undefined && time < since) || (until !== undefined && time > until)) return;
    this.items += 1;
    if (event === "application") {
      this.counts.applicationItems += 1;
      return;
    }
    if (time > now + clockSkew) this.future += 1;
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

/**
 * Vaults that have an item which meets all conditions. It selects vaults and not items, because a verdict without some of a vault's items
 * would be wrong.
 */
export class Selection {
  readonly conditions: readonly Condition[];
  readonly #patterns: readonly RegExp[];
  readonly #selected = new Set<number>();

  constructor(conditions: readonly Condition[]) {
    this.conditions = conditions;
    this.#patterns = conditions.map(({ value }) => {
      const parts = value.split("*").map((part) => part.replaceAll(/[^\w ]/gu, String.raw`\$&`));
      return new RegExp(`^${parts.join(".*")}$`, "s");
    });
  }

  /** Takes an item, which it reads unless its vault is selected. */
  take(entry: Entry, itemOf: (location: ItemLocation) => Item): void {
    if (this.has(entry.vault)) return;
    const item = itemOf(entry);
    const isMet = this.conditions.every((condition, index) => {
      const text = item[properties[roleOf(condition)]];
      return text !== undefined && this.#patterns[index]?.test(text) === true;
    });
    if (isMet) this.#selected.add(entry.vault);
  }

  has(vault: number): boolean {
    return this.#selected.has(vault);
  }
}
