import { defined } from "../../defined.ts";
import type { ItemReference, Origin, Tally, VaultReport } from "../../documents/audit.ts";
import { callOf, isAcknowledgement, isFailedAccess, isStart } from "../fold/events.ts";
import type { Vault } from "../fold/vault.ts";
import { short } from "../read/clip.ts";
import type { Events, Log, VaultEvent } from "./log.ts";
import { eventsOf } from "./log.ts";
import type { Judgement } from "./verdict.ts";
import { judge } from "./verdict.ts";

/** A vault's verdict, its newest events, and those that led to the lock or count toward lockout. */
export interface Evidence extends Judgement, Events {
  chain: readonly VaultEvent[];
}

export function evidenceOf(log: Log, vault: Vault): Evidence {
  const judgement = judge(log, vault);
  const events = eventsOf(log, vault);
  return { ...judgement, ...events, chain: chainOf(events.before, vault, judgement) };
}

/** Whether a call counted as a start. */
export const countsAsStart = ({ event }: VaultEvent): boolean =>
  isStart(event) || event === "locking-start" || event === "unanswered-start";

/** Whether it counted as a failed attempt. */
export const countsAsFailure = ({ event }: VaultEvent): boolean =>
  isFailedAccess(event) || event === "unauthorized";

/** Returns the newest `count` events of a kind. */
const newest = (
  events: readonly VaultEvent[],
  count: number,
  isOne: (event: VaultEvent) => boolean,
): VaultEvent[] => (count === 0 ? [] : events.filter(isOne).slice(-count));

/** Returns the events, of those up to the lock, that led to it or that count toward lockout, oldest first. */
function chainOf(
  events: readonly VaultEvent[],
  vault: Vault,
  { verdict, rule }: Judgement,
): VaultEvent[] {
  const { ending, unackedStarts, failedAttempts } = vault;
  if (rule === "auto-lock") return [];
  if (ending === undefined) {
    const starts = newest(events, unackedStarts, countsAsStart);
    const failures = newest(events, failedAttempts, countsAsFailure);
    return events.filter((one) => starts.includes(one) || failures.includes(one));
  }
  const last = events.length - 1;
  if (verdict === "deleted" || rule === "administrator") return events.slice(last);
  if (rule === "unseen") {
    const isOther = (one: VaultEvent): boolean =>
      !countsAsFailure(one) && one.event !== "not-performed";
    return events.slice(events.slice(0, last).findLastIndex(isOther) + 1);
  }
  const { count } = ending;
  if (rule === "expired-invalid-start")
    return newest(events, 1, (one) => one.seen.time === vault.invalidStart && countsAsFailure(one));
  // A refusal between failed attempts that lock by themselves did not.
  const isSure = ({ event }: VaultEvent): boolean => isFailedAccess(event) && event !== "refused";
  const sure = rule === "failed-attempts" ? newest(events, count, isSure) : [];
  const isOne = rule === "failed-attempts" ? countsAsFailure : countsAsStart;
  const counted = sure.length === count ? sure : newest(events, count, isOne);
  return events.filter((one, at) => at === last || counted.includes(one));
}

/** Who sent calls. */
export type Client = Omit<Origin, "vaults" | "rule">;

export const whoOf = (items: readonly ItemReference[]): VaultReport["who"] => ({
  addresses: tally(items, "address"),
  externalRefs: tally(items, "externalRef"),
  endpoints: tally(items, "endpoint"),
  applications: tally(items, "application"),
});

/** Counts equal values, most frequent first. */
const tally = (items: readonly ItemReference[], key: keyof Client | "endpoint"): Tally[] =>
  [...Map.groupBy(items, (item) => item[key])]
    .flatMap(([value, { length }]) => (value === undefined ? [] : [{ value, count: length }]))
    .sort((a, b) => b.count - a.count);

/** Returns who sent most of the calls. */
export function clientOf(events: readonly VaultEvent[]): Client {
  const who = whoOf(events.map(({ item }) => item));
  const most = ([first]: readonly Tally[]): string | undefined =>
    first !== undefined && first.count * 2 > events.length ? first.value : undefined;
  const [externalRef, address] = [most(who.externalRefs), most(who.addresses)];
  return defined({
    externalRef,
    address,
    application: (externalRef ?? address) === undefined ? most(who.applications) : undefined,
  });
}

/** Describes who sent calls: `reference report-cron from 10.0.0.7`; an empty text if nothing tells. */
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
 * Returns the references that name clients: they recur in several exchanges. One that occurs in a single exchange, however often that was
 * tried, names the exchange.
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
