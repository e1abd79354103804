import type { Entry } from "../read/item.ts";
import { Duplicates } from "./duplicates.ts";
import { Transitions } from "./transitions.ts";
import { Vault } from "./vault.ts";
import type { VaultTable } from "./vault-table.ts";
import type { Rules } from "../../documents/audit.ts";

/**
 * The service's state machine as audit items show it, which verdicts, timelines and what-if reports are based on. It takes items in order
 * of time; memory grows with the vaults only.
 */
export class Fold {
  readonly rules: Rules;
  /** By their numbers; empty for one without items. */
  readonly vaults: (Vault | undefined)[] = [];
  readonly #table: VaultTable;
  readonly #transitions: Transitions;
  readonly #duplicates = new Duplicates();
  /** Of what `expect` read, without which nothing would be read. */
  expected = 0;
  #newest = Number.NEGATIVE_INFINITY;
  /** Number of items that came too late to be sorted. */
  late = 0;

  /** `hypothetical` ignores what items say about locks: only the rules count. */
  constructor(rules: Rules, table: VaultTable, hypothetical = false) {
    this.rules = rules;
    this.#table = table;
    this.#transitions = new Transitions(rules, hypothetical);
  }

  /** Takes the next item. Returns its vault, or undefined for a duplicate, which counts nothing. */
  take(entry: Entry): Vault | undefined {
    const vault = this.vaults[entry.vault] ?? this.#begin(entry);
    if (entry.time > this.#newest) {
      this.#newest = entry.time;
      vault.lastTime = entry.time;
    } else if (vault.items > 0 && !this.#follows(vault, entry)) return undefined;
    vault.items += 1;
    this.#duplicates.note(vault, entry);
    if (this.#transitions.expiresInvalid) this.#transitions.expireInvalid(vault, entry.time);
    if (entry.event !== "other") vault.hasKnownAction = true;
    this.#transitions.apply(vault, entry, entry.event);
    return vault;
  }

  /** Reads the vault of an entry ahead, so that the processor waits for several at once: an eighth of the time. */
  expect({ vault: number }: Entry): void {
    // A negative index would make this access a slow one, for every item.
    const vault = number < 0 ? undefined : this.vaults[number];
    if (vault !== undefined) this.expected ^= vault.sum();
  }

  /** Whether the last item locked its vault. */
  get hasLocked(): boolean {
    return this.#transitions.hasLocked;
  }

  get duplicates(): number {
    return this.#duplicates.count;
  }

  /** Applies the effects of time until `asOf`. */
  finish(vault: Vault, asOf: number): void {
    this.#transitions.expireInvalid(vault, asOf);
  }

  #begin({ vault: number, time }: Entry): Vault {
    const vault = new Vault(this.#table.uuid(number), number, time);
    // Without holes, which would make every access slow.
    while (this.vaults.length < number) this.vaults.push(undefined);
    this.vaults[number] = vault;
    return vault;
  }

  /** Returns false for a duplicate. */
  #follows(vault: Vault, entry: Entry): boolean {
    if (entry.time > vault.lastTime) {
      vault.lastTime = entry.time;
      return true;
    }
    if (entry.time === vault.lastTime) return !this.#duplicates.isOne(vault, entry);
    this.late += 1;
    vault.doubt().hasLate = true;
    return true;
  }
}
