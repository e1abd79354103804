import type { ItemReference, OwnExchange } from "../../documents/audit.ts";
import type { Fold } from "../fold/fold.ts";
import type { Seen } from "../fold/rings.ts";
import type { Vault } from "../fold/vault.ts";
import type { Item, ItemLocation } from "../read/item.ts";
import type { Selection } from "../selection.ts";
import type { Pseudonyms } from "./pseudonyms.ts";

/** Finds this machine's exchange by its external reference; of several, the one closest to vault and time (in milliseconds). */
export type FindOwn = (
  externalRef: string,
  near: { vault?: string; at?: number },
) => OwnExchange | undefined;

/** A replayed log, with what reports on it need. */
export interface Log {
  fold: Fold;
  itemOf: (location: ItemLocation) => Item;
  /** Names of the inputs. */
  names: readonly string[];
  own: FindOwn | undefined;
  pseudonyms: Pseudonyms;
  /** Labels of vaults by UUID, in lower case. */
  labels: ReadonlyMap<string, string>;
  /** Vaults to report; absent for all. */
  selection: Selection | undefined;
  hasTimelines: boolean;
  /** Doubts about every verdict. */
  doubts: readonly string[];
  /** Time of the verdicts and current time, on which advice depends, in milliseconds since the epoch. */
  asOf: number;
  now: number;
  /** The items are the service's own, up to the last one: not this machine's journal, no --until, no --what-if. */
  isWhole: boolean;
}

/** An event of a vault. Its item is read when it is asked for. */
export interface VaultEvent extends Seen {
  readonly item: ItemReference;
}

/** Returns the item at a location as it is shown. A value has one pseudonym: they compare like the values. */
export function itemAt(log: Log, location: ItemLocation): ItemReference {
  const { time, vault, ...item } = log.itemOf(location);
  const { externalRef } = item;
  const own = externalRef && log.own?.(externalRef, { ...(vault && { vault }), at: time });
  const { input, line, event } = location;
  const at = new Date(time).toISOString();
  const shown = { input: log.names[input] ?? "", line, at, event, ...item, ...(own && { own }) };
  return log.pseudonyms.item(shown);
}

/** Returns the newest events of a vault, oldest first: of a locked one, those up to the lock, and those since. */
export function eventsOf(log: Log, vault: Vault): { before: VaultEvent[]; since: VaultEvent[] } {
  const [earlier, newest] = [vault.earlier, vault].map((ring) =>
    log.fold.rings.events(ring).map((seen): VaultEvent => {
      let item: ItemReference | undefined;
      const read = (): ItemReference => (item ??= itemAt(log, seen));
      return {
        ...seen,
        get item() {
          return read();
        },
      };
    }),
  ) as [VaultEvent[], VaultEvent[]];
  return vault.ending === undefined
    ? { before: [...earlier, ...newest], since: [] }
    : { before: earlier, since: newest };
}
