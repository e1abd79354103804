import type { ItemReference, LockRule, Origin, Tally, VaultReport } from "../../documents/audit.ts";
import { defined } from "../../defined.ts";
import type { EventKind } from "../fold/events.ts";
import { isAcknowledgement, isFailedAccess, isStart } from "../fold/events.ts";
import type { Fold } from "../fold/fold.ts";
import type { Seen } from "../fold/rings.ts";
import type { Vault } from "../fold/vault.ts";
import { short } from "../read/clip.ts";
import type { Verdict } from "./severity.ts";

/** The newest events of a vault, oldest first: of a locked one, those up to the lock. */
export const eventsOf = ({ rings }: Fold, vault: Vault): Seen[] => [
  ...rings.events(vault.earlier),
  ...(vault.ending === undefined ? rings.events(vault) : []),
];

/** The newest events after the lock. */
export const eventsSince = ({ rings }: Fold, vault: Vault): Seen[] =>
  vault.ending === undefined ? [] : rings.events(vault);

export const countsAsStart = (event: EventKind): boolean =>
  isStart(event) || event === "locking-start" || event === "unanswered-start";
const countsAsFailure = (event: EventKind): boolean =>
  isFailedAccess(event) || event === "unauthorized";

/** Whether a call was refused. */
export const isRefused = (event: EventKind): boolean =>
  countsAsFailure(event) || event === "not-performed";

/** Returns the newest `count` events of some kinds. */
const newest = (events: Seen[], count: number, isOne: (event: EventKind) => boolean): Seen[] =>
  count === 0 ? [] : events.filter(({ event }) => isOne(event)).slice(-count);

/** Returns the events that led to the lock, or that count toward lockout, oldest first. */
export function chainOf(
  fold: Fold,
  vault: Vault,
  { verdict, rule }: { verdict: Verdict; rule?: LockRule },
): Seen[] {
  const events = eventsOf(fold, vault);
  const { ending, unackedStarts, failedAttempts } = vault;
  if (rule === "auto-lock") return [];
  if (ending === undefined)
    return [
      ...newest(events, unackedStarts, countsAsStart),
      ...newest(events, failedAttempts, countsAsFailure),
    ].sort((a, b) => a.time - b.time || events.indexOf(a) - events.indexOf(b));
  const last = events.slice(-1);
  if (verdict === "deleted" || rule === "administrator") return last;
  if (rule === "unseen") return [...refusedBefore(events), ...last];
  const { item, count } = ending;
  if (rule === "expired-invalid-start")
    return events.filter(({ input, line }) => input === item.input && line === item.line);
  const sure = newest(events, count, (event) => isFailedAccess(event) && event !== "refused");
  const isOne = rule === "unacknowledged-starts" ? countsAsStart : countsAsFailure;
  // A refusal between failed attempts that lock by themselves did not.
  const counted =
    isOne === countsAsFailure && sure.length === count ? sure : newest(events, count, isOne);
  return [...counted, ...last.filter((one) => !counted.includes(one))];
}

/** Returns the calls that were refused just before the last event, in a row. */
function refusedBefore(events: Seen[]): Seen[] {
  const before = events.slice(0, -1);
  const from = before.findLastIndex(({ event }) => !isRefused(event)) + 1;
  return before.slice(from);
}

export function whoOf(items: readonly ItemReference[]): VaultReport["who"] {
  return {
    addresses: tally(items.map(({ address }) => address)),
    externalRefs: tally(items.map(({ externalRef }) => externalRef)),
    endpoints: tally(items.map(({ endpoint }) => endpoint)),
    applications: tally(items.map(({ application }) => application)),
  };
}

/** Counts equal values, most frequent first. */
function tally(values: readonly (string | undefined)[]): Tally[] {
  const counts = new Map<string, number>();
  for (const value of values)
    if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].map(([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count);
}

/** Who sent calls. */
export type Client = Omit<Origin, "vaults" | "rule">;

/** Returns who sent most of the items. */
export function clientOf(items: readonly ItemReference[]): Client {
  const who = whoOf(items);
  const most = ([first]: readonly Tally[]): string | undefined =>
    first !== undefined && first.count * 2 > items.length ? first.value : undefined;
  const [externalRef, address] = [most(who.externalRefs), most(who.addresses)];
  const application =
    externalRef === undefined && address === undefined ? most(who.applications) : undefined;
  return defined({ externalRef, address, application });
}

/**
 * Returns the references that name clients: they recur in several exchanges. One that occurs in a single exchange, however often that was
 * tried, names the exchange.
 */
export function recurring(items: readonly ItemReference[]): ReadonlySet<string> {
  const seen = new Map<string, { isOver: boolean; exchanges: number }>();
  let previous: string | undefined;
  for (const { externalRef, event } of items) {
    if (externalRef === undefined) continue;
    const known = seen.get(externalRef) ?? { isOver: true, exchanges: 0 };
    if (known.isOver || previous !== externalRef) known.exchanges += isEnd(event) ? 0 : 1;
    known.isOver = isAcknowledgement(event);
    seen.set(externalRef, known);
    previous = externalRef;
  }
  return new Set([...seen].flatMap(([one, { exchanges }]) => (exchanges > 1 ? [one] : [])));
}

const isEnd = (event: EventKind): boolean => isAcknowledgement(event) || event.endsWith("-ack");

/** Describes who sent calls: `reference report-cron from 10.0.0.7`; undefined if nothing tells. */
export function clientWords({ externalRef, address, application }: Client): string | undefined {
  const from = address === undefined ? "" : ` from ${short(address)}`;
  if (externalRef !== undefined) return `reference ${short(externalRef)}${from}`;
  if (address !== undefined) return `address ${short(address)}`;
  return application === undefined ? undefined : `application ${short(application)}`;
}

/** The texts whose conditions hold. */
export const said = (...all: readonly (readonly [is: boolean, text: string])[]): string[] =>
  all.flatMap(([is, text]) => (is ? [text] : []));
