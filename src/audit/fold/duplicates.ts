import type { EventKind } from "./events.ts";
import { eventKinds } from "./events.ts";
import { inputOf } from "../read/item.ts";
import type { DueItem } from "./time-order.ts";
import type { VaultRecords } from "./vault-records.ts";
import { flag, intField } from "./vault-records.ts";

/** A constant of this module, like `kinds` of the fold. */
const input = inputOf;

/** Maximum number of vaults for which several items of the same millisecond are remembered. */
const maxRemembered = 10_000;

/** Maximum number of items remembered for a vault and a millisecond. */
const maxSeen = 32;

/** Distinguishes items of the same vault and millisecond. */
interface Identity {
  /** Odd for a hash of an id, even for a content hash. */
  idHash: number;
  input: number;
  kind: number;
}

/**
 * Finds duplicates, as in overlapping exports: items of the same vault and time with the same id or, if one of two inputs has no ids, of
 * the same call.
 */
export class Duplicates {
  readonly #records: VaultRecords;
  readonly #sameTime = new Map<number, { time: number; seen: Identity[] }>();
  count = 0;

  constructor(records: VaultRecords) {
    this.#records = records;
  }

  /** Remembers the last item of a vault. */
  note({ vault, idHash, location, kind }: DueItem): void {
    this.#records.setInt(vault, intField.idHash, idHash);
    this.#records.setInt(vault, intField.lastInput, input(location));
    this.#records.setInt(vault, intField.lastKind, kind);
  }

  /** Whether an item, which has the time of the last item of its vault, is a duplicate. */
  isOne({ vault, time, idHash, location, kind }: DueItem): boolean {
    const before = this.#sameTime.get(vault);
    const seen = before?.time === time ? before.seen : [this.#last(vault)];
    const one = { idHash, input: input(location), kind };
    if (seen.some((other) => isSame(one, other))) {
      this.count += 1;
      // Without an id, a duplicate cannot be distinguished from another item with equal content.
      if (idHash % 2 === 0) this.#records.setFlags(vault, flag.alike);
      return true;
    }
    if (this.#sameTime.size === maxRemembered) this.#sameTime.clear();
    this.#sameTime.set(vault, { time, seen: [...seen.slice(-maxSeen), one] });
    return false;
  }

  #last(vault: number): Identity {
    const get = (at: number): number => this.#records.getInt(vault, at);
    return {
      idHash: get(intField.idHash),
      input: get(intField.lastInput),
      kind: get(intField.lastKind),
    };
  }
}

function isSame(a: Identity, b: Identity): boolean {
  if (calls[a.kind] !== calls[b.kind]) return false;
  if (a.idHash === b.idHash) return true;
  const hasNoId = a.idHash % 2 === 0 || b.idHash % 2 === 0;
  return hasNoId && a.input !== b.input;
}

/** Calls by event kind. Two exports may describe the outcome of the same call differently. */
const calls = eventKinds.map(callOf);

function callOf(kind: EventKind): string {
  if (kind.startsWith("ack") || kind.endsWith("-ack")) return "end";
  return ["create", "delete", "failed-delete", "lock", "unlock", "other"].includes(kind)
    ? kind.replace("failed-", "")
    : "start";
}
