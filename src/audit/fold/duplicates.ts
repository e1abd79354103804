import type { Entry } from "../read/item.ts";
import type { EventKind } from "./events.ts";
import { eventKinds } from "./events.ts";
import type { Identity, Vault } from "./vault.ts";

/** Maximum number of vaults for which several items of the same millisecond are remembered. */
const maxRemembered = 10_000;

/** Maximum number of items remembered for a vault and a millisecond. */
const maxSeen = 32;

/**
 * Finds duplicates, as in overlapping exports: items of the same vault and time with the same id or, if one of two inputs has no ids, of
 * the same call.
 */
export class Duplicates {
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
