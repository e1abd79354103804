import type { Rules } from "../../documents/audit.ts";
import type { Entry } from "../read/item.ts";
import type { EventKind } from "./events.ts";
import { eventKinds } from "./events.ts";
import { Transitions } from "./transitions.ts";
import type { VaultTable } from "./vault-table.ts";
import type { Identity } from "./vault.ts";
import { Vault } from "./vault.ts";

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

/** Maximum number of vaults for which several items of the same millisecond are remembered. */
const maxRemembered = 10_000;

/** Maximum number of items remembered for a vault and a millisecond. */
const maxSeen = 32;

/**
 * Finds duplicates, as in overlapping exports: items of the same vault and time with the same id or, if one of two inputs has no ids, of
 * the same call.
 */
class Duplicates {
  readonly #sameTime = new Map<Vault, { time: number; seen: Identity[] }>();
  count = 0;

  /** Remembers the last item of a vault. */
  note(vault: Vault, { idHash, input, event }: Entry): void {
    vault.lastIdHash = idHash;
    vault.lastInput = input;
    vault.lastEvent = event;
  }

  /** Whether an item, which has the time of the last item of its vault, is a duplicate. */
  isOne(vault: Vault, { time, idHash, input, event }: Entry): boolean {
    const before = this.#sameTime.get(vault);
    const last = { idHash: vault.lastIdHash, input: vault.lastInput, event: vault.lastEvent };
    const seen = before?.time === time ? before.seen : [last];
    const one = { idHash, input, event };
    if (seen.some((other) => isSame(one, other))) {
      this.count += 1;
      // Without an id, a duplicate cannot be distinguished from another item with equal content.
      if (idHash % 2 === 0) vault.doubt().hasAlike = true;
      return true;
    }
    if (this.#sameTime.size === maxRemembered) this.#sameTime.clear();
    this.#sameTime.set(vault, { time, seen: [...seen.slice(-maxSeen), one] });
    return false;
  }
}

function isSame(a: Identity, b: Identity): boolean {
  if (calls.get(a.event) !== calls.get(b.event)) return false;
  if (a.idHash === b.idHash) return true;
  const hasNoId = a.idHash % 2 === 0 || b.idHash % 2 === 0;
  return hasNoId && a.input !== b.input;
}

/** Calls by event kind. Two exports may describe the outcome of the same call differently. */
const calls: ReadonlyMap<EventKind, string> = new Map(
  eventKinds.map((kind) => [kind, callOf(kind)]),
);

function callOf(kind: EventKind): string {
  if (kind.startsWith("ack") || kind.endsWith("-ack")) return "end";
  return ["create", "delete", "failed-delete", "lock", "unlock", "other"].includes(kind)
    ? kind.replace("failed-", "")
    : "start";
}
