import { defined } from "../../defined.ts";
import type { InputReport, ItemReference, Origin, Rules } from "../../documents/audit.ts";
import type { Fold } from "../fold/fold.ts";
import type { Vault } from "../fold/vault.ts";
import type { Entry, EventKind, Item, ItemLocation, Skips } from "../read/item.ts";
import { callOf, isAcknowledgement } from "../read/item.ts";
import { short } from "../read/clip.ts";
import type { Condition, Selection } from "../flags.ts";

/** A replayed log, with what reports on it need. */
export interface Log {
  /** Those of this machine by UUID, in lower case. */
  labels?: ReadonlyMap<string, string> | undefined;
  fold: Fold;
  itemOf: (location: ItemLocation) => Item;
  inputs: readonly InputReport[];
  skips: Skips;
  pseudonyms: Pseudonyms;
  selection: Selection | undefined;
  /** Reports have the events of their vaults. */
  timeline: boolean;
  /** Doubts about every verdict. */
  doubts: readonly string[];
  /** Time of the verdicts, and current time for the advice, in milliseconds since the epoch. */
  asOf: number;
  now: number;
  /** Has all of the service's items, to the last: no own journal, no --until, no --what-if. */
  isWhole: boolean;
}

/** Event of a vault; reads its item on demand. (A getter of its own would cost a hidden class.) */
export class VaultEvent {
  readonly seen: Entry;
  readonly event: EventKind;
  readonly #log: Log;
  #item: ItemReference | undefined;

  constructor(log: Log, seen: Entry) {
    this.seen = seen;
    this.event = seen.event;
    this.#log = log;
  }

  get item(): ItemReference {
    return (this.#item ??= itemAt(this.#log, this.seen));
  }
}

/** Returns the item at a location as shown. A value has one pseudonym: they compare alike. */
export function itemAt(log: Log, location: ItemLocation): ItemReference {
  const { time, vault: _vault, ...item } = log.itemOf(location);
  const { line, event } = location;
  const input = log.inputs[location.input]?.name ?? "";
  const at = new Date(time).toISOString();
  return log.pseudonyms.item({ input, line, at, event, ...item });
}

/** The newest events of a vault, oldest first; of a locked one, up to the lock and since. */
export interface Events {
  before: readonly VaultEvent[];
  since: readonly VaultEvent[];
}

export function eventsOf(log: Log, vault: Vault): Events {
  const [earlier = [], newest = []] = [vault.earlier, vault.ring].map((ring) =>
    ring?.events().map((seen) => new VaultEvent(log, seen)),
  );
  return vault.ending === undefined
    ? { before: [...earlier, ...newest], since: [] }
    : { before: earlier, since: newest };
}

export type Client = Omit<Origin, "vaults" | "rule">;

/** Returns who sent most of the calls. */
export function clientOf(events: readonly VaultEvent[]): Client {
  const most = (key: keyof Client): string | undefined =>
    [...Map.groupBy(events, ({ item }) => item[key])].find(
      ([, same]) => same.length * 2 > events.length,
    )?.[0];
  const [externalRef, address] = [most("externalRef"), most("address")];
  const application = (externalRef ?? address) === undefined ? most("application") : undefined;
  return defined({ externalRef, address, application });
}

/** Describes who sent calls: `reference report-cron from 10.0.0.7`; empty if nothing tells. */
export function clientWords({ externalRef, address, application }: Client): string {
  const from = address === undefined ? "" : ` from ${short(address)}`;
  if (externalRef !== undefined) return `reference ${short(externalRef)}${from}`;
  if (address !== undefined) return `address ${short(address)}`;
  return application === undefined ? "" : `application ${short(application)}`;
}

/** The same in brackets, behind a word. */
export function inBrackets(client: Client | undefined): string {
  const words = clientWords(client ?? {});
  return words && ` (${words})`;
}

/**
 * Returns the references that name clients: they recur in several exchanges. One that occurs in a
 * single exchange, however often that was tried, names the exchange.
 */
export function recurring(items: readonly ItemReference[]): ReadonlySet<string> {
  const seen = new Map<string, { isOver: boolean; exchanges: number }>();
  let previous: string | undefined;
  for (const { externalRef, event } of items) {
    if (externalRef === undefined) continue;
    const known = seen.get(externalRef) ?? { isOver: true, exchanges: 0 };
    if (known.isOver || previous !== externalRef)
      known.exchanges += callOf(event) === "end" ? 0 : 1;
    known.isOver = isAcknowledgement(event);
    seen.set(externalRef, known);
    previous = externalRef;
  }
  return new Set([...seen].flatMap(([one, { exchanges }]) => (exchanges > 1 ? [one] : [])));
}

/**
 * Replaces addresses, references, application ids and labels by words like `ip-1`, numbered by
 * first appearance in a report: the same word for the same value everywhere. Free text that a
 * verdict does not need is left out. Without redaction, it returns everything as it is.
 */
export class Pseudonyms {
  readonly #isOn: boolean;
  readonly #words = new Map<string, Map<string, string>>();

  constructor(isOn: boolean) {
    this.#isOn = isOn;
  }

  of<T extends string | undefined>(kind: "ip" | "ref" | "app" | "label", value: T): T | string {
    if (!this.#isOn || value === undefined) return value;
    const words = this.#words.get(kind) ?? new Map<string, string>();
    const word = words.get(value) ?? `${kind}-${words.size + 1}`;
    this.#words.set(kind, words.set(value, word));
    return word;
  }

  item(item: ItemReference): ItemReference {
    if (!this.#isOn) return item;
    const { description: _description, id: _id, endpoint: _endpoint, ...shown } = item;
    return defined({
      ...shown,
      action: this.word(item.action),
      externalRef: this.of("ref", item.externalRef),
      address: this.of("ip", item.address),
      application: this.of("app", item.application),
      outcome: item.outcome && this.word(item.outcome),
    });
  }

  condition({ key, value }: Condition): string {
    return `${key}=${this.#isOn ? "…" : value}`;
  }

  /** Returns rules without other text in the words and patterns that the user gave. */
  rules(rules: Rules): Rules {
    const { actions, outcomes, failure } = rules;
    const hidden = <T>(all: Record<string, T> | undefined): Record<string, T> | undefined =>
      all && Object.fromEntries(Object.entries(all).map(([text, one]) => [this.word(text), one]));
    return defined({
      ...rules,
      failure: failure && this.word(failure),
      actions: hidden(actions),
      outcomes: hidden(outcomes),
    });
  }

  /** Returns an action or outcome of one word, and hides other text, which could name anybody. */
  word(text: string): string {
    return this.#isOn && !/^\w+$/.test(text) ? "…" : text;
  }

  /** Returns the reason for skipping a line without the value that it quotes. */
  reason(text: string): string {
    return this.#isOn ? text.replace(/: .*$/s, "") : text;
  }
}
