import type { EventKind } from "./events.ts";
import { eventKinds } from "./events.ts";
import type { KeptItems } from "./kept-items.ts";
import type { Contradictions } from "./contradictions.ts";
import { Duplicates } from "./duplicates.ts";
import type { Rules } from "./rules.ts";
import type { DueItem } from "./time-order.ts";
import { Transitions } from "./transitions.ts";
import { field, flag, intField, VaultRecords } from "./vault-records.ts";

/** Constants of this module are read faster, for millions of items, than those that the built program shares between its files. */
const kinds = eventKinds;

/**
 * The service's state machine as audit items show it, which verdicts, timelines and what-if reports are based on. It takes items in order
 * of time; memory grows with the vaults only.
 */
export class Fold {
  readonly rules: Rules;
  readonly records: VaultRecords;
  readonly #transitions: Transitions;
  readonly #duplicates: Duplicates;
  late = 0;

  /** `hypothetical` ignores what items say about locks: only the rules count. */
  constructor(rules: Rules, hypothetical = false) {
    this.rules = rules;
    this.records = new VaultRecords(rules.limits.unackedStarts, rules.limits.failedAttempts);
    this.#transitions = new Transitions(rules, this.records, hypothetical);
    this.#duplicates = new Duplicates(this.records);
  }

  /** Takes the next item. Returns undefined for a duplicate, which counts nothing. */
  take(due: DueItem): EventKind | undefined {
    const { vault, time } = due;
    const records = this.records;
    records.ensure(vault);
    if (records.getInt(vault, intField.items) === 0) this.#begin(vault, time);
    else if (!this.#follows(due)) return undefined;
    records.setInt(vault, intField.items, records.getInt(vault, intField.items) + 1);
    this.#duplicates.note(due);
    if (time > records.get(vault, field.lastTime)) records.set(vault, field.lastTime, time);
    this.#transitions.expireInvalid(vault, time);
    const event = kinds[due.kind] as EventKind;
    if (event !== "other") records.setFlags(vault, flag.meaningful);
    this.#transitions.apply(vault, due, event);
    return event;
  }

  /** Whether the last item locked its vault. */
  get hasLocked(): boolean {
    return this.#transitions.hasLocked;
  }

  get kept(): KeptItems {
    return this.#transitions.kept;
  }

  get contradictions(): Contradictions {
    return this.#transitions.contradictions;
  }

  get duplicates(): number {
    return this.#duplicates.count;
  }

  /** Whether the vault has any item. */
  hasSeen(vault: number): boolean {
    return this.records.knows(vault) && this.records.getInt(vault, intField.items) > 0;
  }

  /** Applies the effects of time until `asOf`. */
  finish(vault: number, asOf: number): void {
    this.#transitions.expireInvalid(vault, asOf);
  }

  #begin(vault: number, time: number): void {
    const records = this.records;
    for (const at of [field.firstTime, field.lastTime, field.since]) records.set(vault, at, time);
    for (const at of [
      field.lastStart,
      field.pendingLocation,
      field.invalidSince,
      field.causeLocation,
    ])
      records.set(vault, at, Number.NaN);
  }

  /** Returns false for a duplicate. */
  #follows(due: DueItem): boolean {
    const { vault, time } = due;
    const last = this.records.get(vault, field.lastTime);
    if (time > last) return true;
    if (time < last) {
      this.late += 1;
      this.records.setFlags(vault, flag.late);
      return true;
    }
    return !this.#duplicates.isOne(due);
  }
}
