import { defined } from "../defined.ts";
import { conditionOf, field, intField } from "./fold/vault-records.ts";
import type { Batch } from "./read/batch.ts";
import type { EventKind } from "./fold/events.ts";
import { eventKinds, isFailedAccess } from "./fold/events.ts";
import { numberOf } from "./read/columns/classify-item.ts";
import { Fold } from "./fold/fold.ts";
import type { Item } from "./read/item.ts";
import type { ReenactmentReport, VaultState } from "./report/report.ts";
import type { Rules } from "./fold/rules.ts";
import type { DueItem } from "./fold/time-order.ts";
import { TimeOrder } from "./fold/time-order.ts";
import { Timelines } from "./report/timelines.ts";
import type { Selection } from "./selection.ts";
import type { VaultTable } from "./fold/vault-table.ts";
import { type WhatIf, withChanges } from "./fold/what-if.ts";

/** An event to re-enact. */
export interface ReenactedStep {
  uuid: string;
  /** Milliseconds since the epoch. */
  time: number;
  event: EventKind;
  /** Line of the item. */
  line: number;
  /** Endpoint of the item, if any, which names the kind of the vault. */
  kindHint?: string;
}

/** An emulated service that re-enacts the events. */
export interface Reenacted {
  add(step: ReenactedStep): void;
  finish(asOf: number, replayed: Iterable<{ uuid: string; state: VaultState }>): ReenactmentReport;
}

interface ReplayerOptions {
  rules: Rules;
  vault?: string;
  since?: number;
  until?: number;
  timeline: "none" | "vault" | "problems";
  whatIf?: WhatIf;
  selection?: Selection | undefined;
  reenact?: Reenacted | undefined;
  /** Milliseconds since the epoch. */
  now: number;
}

/** Maximum number of events in a timeline, by mode. */
const maxEvents = { none: 0, vault: 5000, problems: 40 };

/** Maximum difference between clocks, a day: later items are in the future. */
const clockSkew = 86_400_000;

const application = numberOf("application");
const isFailure = eventKinds.map(isFailedAccess);

/** Passes the wanted items of all inputs to the fold in order of time, and counts the others. */
export class Replayer {
  readonly fold: Fold;
  readonly timelines: Timelines | undefined;
  /** Fold with the change of --what-if. */
  readonly changed: { whatIf: WhatIf; fold: Fold } | undefined;
  readonly #options: ReplayerOptions;
  readonly #vaults: VaultTable;
  readonly #since: number;
  readonly #until: number;
  readonly #future: number;
  readonly #order = new TimeOrder((due) => this.#takeDue(due));
  #inserted = false;
  /** Items or exchanges that --what-if changed, and acknowledgements that would have been too late. */
  touched = 0;
  tooLate = 0;
  items = 0;
  applicationItems = 0;
  withoutVault = 0;
  vaultItems = 0;
  failures = 0;
  /** Number of items in the future. */
  future = 0;
  newest = Number.NEGATIVE_INFINITY;

  constructor(options: ReplayerOptions, vaults: VaultTable) {
    const { rules, whatIf, timeline, since, until } = options;
    this.#options = options;
    this.#vaults = vaults;
    this.#since = since ?? Number.NEGATIVE_INFINITY;
    this.#until = until ?? Number.POSITIVE_INFINITY;
    this.#future = options.now + clockSkew;
    this.timelines =
      timeline === "none" ? undefined : new Timelines(maxEvents[timeline], timeline === "problems");
    this.fold = new Fold(rules);
    if (whatIf !== undefined)
      this.changed = {
        whatIf,
        fold: new Fold(whatIf.type === "rules" ? withChanges(rules, whatIf.rules) : rules, true),
      };
  }

  get reordered(): number {
    return this.#order.reordered;
  }

  readonly take = (batch: Batch, from: number, to: number): void =>
    this.#order.add(batch, from, to);

  /** Ends the replay after the last item. */
  end(): void {
    this.#order.end();
    this.#insert(Number.POSITIVE_INFINITY);
  }

  keptItem(location: number): Item | undefined {
    return this.fold.kept.get(location) ?? this.changed?.fold.kept.get(location);
  }

  #takeDue(due: DueItem): void {
    const { time, vault, kind } = due;
    if (time < this.#since || time > this.#until) return;
    this.items += 1;
    if (kind === application) {
      this.applicationItems += 1;
      return;
    }
    if (time > this.#future) this.future += 1;
    else if (time > this.newest) this.newest = time;
    if (vault < 0) this.withoutVault += 1;
    if (vault >= 0 && !this.#vaults.isWanted(vault)) this.vaultItems += 1;
    if (vault < 0 || !this.#vaults.isWanted(vault)) return;
    this.vaultItems += 1;
    if (due.item !== undefined) this.#options.selection?.take(vault, due.item);
    if (isFailure[kind] === true) this.failures += 1;
    const event = this.fold.take(due);
    if (event === undefined) return;
    this.timelines?.add(this.fold, due, this.fold.hasLocked);
    this.#options.reenact?.add(stepOf(this.#vaults.uuid(due.vault), due, event));
    if (this.changed !== undefined) this.#takeChanged(due, this.changed.fold);
  }

  #takeChanged(due: DueItem, fold: Fold): void {
    const { whatIf } = this.#options;
    this.#insert(due.time);
    if (whatIf?.type === "without" && due.time >= whatIf.from && due.time < whatIf.to) {
      this.touched += 1;
      return;
    }
    fold.take(due);
  }

  /** Inserts the acknowledgements of --what-if, for each exchange open at that time. */
  #insert(now: number): void {
    const { whatIf } = this.#options;
    if (this.changed === undefined || whatIf?.type !== "ack" || this.#inserted || now <= whatIf.at)
      return;
    this.#inserted = true;
    const { fold } = this.changed;
    for (let vault = 0; vault < this.#vaults.size; vault++) {
      if (!fold.hasSeen(vault)) continue;
      const pending = fold.records.getInt(vault, intField.pending);
      const kind = pending === 1 ? "ack-read" : pending === 2 ? "ack-update" : undefined;
      if (kind === undefined || conditionOf(fold.records, vault) !== "active") continue;
      if (whatIf.at >= fold.records.get(vault, field.lastStart) + fold.rules.tokenLifetimeMs) {
        this.tooLate += 1;
        continue;
      }
      this.touched += 1;
      fold.take({
        time: whatIf.at,
        vault,
        kind: numberOf(kind),
        location: Number.NaN,
        line: 0,
        idHash: 0,
        item: undefined,
      });
    }
  }
}

function stepOf(uuid: string, { time, line, item }: DueItem, event: EventKind): ReenactedStep {
  return { uuid, time, event, line, ...defined({ kindHint: item?.endpoint ?? undefined }) };
}
