import type { EventKind } from "./events.ts";
import { eventKinds } from "./events.ts";
import { inputOf } from "../read/places.ts";
import type { Due } from "./time-order.ts";
import type { VaultRecords } from "./vault-records.ts";
import { flag, small } from "./vault-records.ts";

/** Vaults with several items in one millisecond, of which this many are remembered. */
const mostRemembered = 10_000;

/** Of one vault and one millisecond, so many items are remembered. */
const mostSeen = 32;

/** What tells items of one vault and one millisecond apart. */
interface Identity {
  /** Odd where it is that of an id, even where the export has none. */
  idHash: number;
  input: number;
  kind: number;
}

/**
 * Finds items that are told twice, as exports that overlap do: of the same vault and time, and with the same id; or, where one of two
 * inputs has no ids, of the same call.
 */
export class Duplicates {
  readonly #records: VaultRecords;
  readonly #sameTime = new Map<number, { time: number; seen: Identity[] }>();
  count = 0;

  constructor(records: VaultRecords) {
    this.#records = records;
  }

  /** Notes the item that a vault has last. */
  note({ vault, idHash, place, kind }: Due): void {
    this.#records.setSmall(vault, small.idHash, idHash);
    this.#records.setSmall(vault, small.lastInput, inputOf(place));
    this.#records.setSmall(vault, small.lastKind, kind);
  }

  /** Whether the item, of the same time as the last one of its vault, has been told already. */
  isOne({ vault, time, idHash, place, kind }: Due): boolean {
    const before = this.#sameTime.get(vault);
    const seen = before?.time === time ? before.seen : [this.#last(vault)];
    const one = { idHash, input: inputOf(place), kind };
    if (seen.some((other) => isSame(one, other))) {
      this.count += 1;
      // Without an id, nobody can tell one that was told twice from two that are alike.
      if (idHash % 2 === 0) this.#records.raise(vault, flag.alike);
      return true;
    }
    if (this.#sameTime.size === mostRemembered) this.#sameTime.clear();
    this.#sameTime.set(vault, { time, seen: [...seen.slice(-mostSeen), one] });
    return false;
  }

  #last(vault: number): Identity {
    const get = (at: number): number => this.#records.getSmall(vault, at);
    return { idHash: get(small.idHash), input: get(small.lastInput), kind: get(small.lastKind) };
  }
}

function isSame(a: Identity, b: Identity): boolean {
  if (calls[a.kind] !== calls[b.kind]) return false;
  if (a.idHash === b.idHash) return true;
  const hasNoId = a.idHash % 2 === 0 || b.idHash % 2 === 0;
  return hasNoId && a.input !== b.input;
}

/** By kind: what was called. Two exports may word the outcome of one call differently. */
const calls = eventKinds.map(callOf);

function callOf(kind: EventKind): string {
  if (kind.startsWith("ack") || kind.endsWith("-ack")) return "end";
  return ["create", "delete", "failed-delete", "lock", "unlock", "other"].includes(kind) ? kind.replace("failed-", "") : "start";
}
