import type { KeptItems } from "./kept-items.ts";
import type { DueItem } from "./time-order.ts";
import type { VaultRecords } from "./vault-records.ts";
import { field, intField } from "./vault-records.ts";

/** The items that count toward lockout: starts without acknowledgement, and consecutive failed attempts. */
export class Chains {
  readonly #records: VaultRecords;
  readonly #kept: KeptItems;

  constructor(records: VaultRecords, kept: KeptItems) {
    this.#records = records;
    this.#kept = kept;
  }

  countStart(due: DueItem): void {
    const length = this.#records.getInt(due.vault, intField.unacked) + 1;
    this.#kept.drop(this.#records.setStart(due.vault, length, due.location, due.line));
    this.#records.setInt(due.vault, intField.unacked, length);
    this.#kept.keep(due);
  }

  /** Counts a failed attempt. Returns their number. */
  countFailure(due: DueItem): number {
    const length = this.#records.getInt(due.vault, intField.failed) + 1;
    this.#kept.drop(this.#records.setFailure(due.vault, length, due.location, due.line));
    this.#records.setInt(due.vault, intField.failed, length);
    this.#kept.keep(due);
    return length;
  }

  clearStarts(vault: number): void {
    if (this.#kept.size > 0)
      for (const { location } of this.#records.starts(vault)) this.#kept.drop(location);
    this.#records.setInt(vault, intField.unacked, 0);
  }

  clearFailures(vault: number): void {
    if (this.#records.getInt(vault, intField.failed) === 0) return;
    if (this.#kept.size > 0)
      for (const { location } of this.#records.failures(vault)) this.#kept.drop(location);
    this.#records.setInt(vault, intField.failed, 0);
    this.#records.set(vault, field.invalidSince, Number.NaN);
  }
}
