import { defined } from "../../defined.ts";
import type { Fold } from "../fold/fold.ts";
import type { Vault } from "../fold/vault.ts";
import type { ItemLocation } from "../read/item.ts";
import type { Selection } from "../selection.ts";
import { adviceOf } from "./advice.ts";
import { causeOf, refusedOf } from "./cause.ts";
import type { References } from "./references.ts";
import type { Trace } from "./cause.ts";
import type { TimelineEntry, Timelines } from "./timelines.ts";
import type { Doubts, Judgement, VaultStatus } from "./verdict.ts";
import { judge, statusAt } from "./verdict.ts";
import type {
  Contradiction,
  ItemReference,
  LockRule,
  Rules,
  Selected,
  Tally,
  TimelineEvent,
  VaultReport,
} from "../../documents/audit.ts";
import { verdicts } from "./severity.ts";
import type { Verdict } from "./severity.ts";

/** Everything that reports are created from. */
export interface ReportContext {
  fold: Fold;
  /** Vaults to report; absent for all. */
  selection: Selection | undefined;
  /** By UUID, in lower case. */
  labels: ReadonlyMap<string, string>;
  references: References;
  timelines: Timelines | undefined;
  /** Traces of refused credentials, by number of the vault. */
  traces?: ReadonlyMap<number, Trace>;
  doubts: Doubts;
  asOf: number;
  /** Current time, for advice, in milliseconds since the epoch. */
  now: number;
  /** The items are the service's own, up to the last one: not this machine's journal, no --until, no --what-if. */
  isWholeLog: boolean;
}

/** Latest time that a Date can hold. */
const latest = 8.64e15;

const iso = (time: number): string => new Date(Math.min(time, latest)).toISOString();

export const statusOf = ({ fold, references, asOf }: ReportContext, vault: Vault): VaultStatus =>
  statusAt(fold, vault, asOf, references.itemOf);

function judgementOf({ fold, references, doubts, asOf }: ReportContext, vault: Vault): Judgement {
  return judge(fold, vault, asOf, doubts, references.itemOf);
}

/** A vault with its verdict. */
export interface Ranked {
  vault: Vault;
  verdict: Verdict;
}

/** Returns the vaults to report, sorted by verdict, worst first, then by time of the lock or the last item, newest first. */
export function rankVaults(context: ReportContext): Ranked[] {
  const found: (Ranked & { rank: number; time: number })[] = [];
  for (const vault of context.fold.vaults) {
    if (vault === undefined || context.selection?.has(vault.number) === false) continue;
    const { verdict, lockedAt } = statusOf(context, vault);
    const rank = verdicts.indexOf(verdict);
    found.push({ vault, verdict, rank, time: lockedAt ?? vault.lastTime });
  }
  return found.sort(
    (a, b) => a.rank - b.rank || b.time - a.time || a.vault.number - b.vault.number,
  );
}

/** Describes the selection, of which the report has `count` vaults. */
export const selectedOf = (
  { fold, references }: ReportContext,
  { conditions }: Selection,
  count: number,
): Selected => ({
  where: conditions.map((condition) => references.pseudonyms.condition(condition)),
  vaults: count,
  of: fold.vaults.filter((vault) => vault !== undefined).length,
});

/** Creates the report on a vault. */
export function reportOf(context: ReportContext, vault: Vault): VaultReport {
  const { fold, references, asOf } = context;
  const { rules } = fold;
  const judgement = judgementOf(context, vault);
  const { verdict, certainty, lockedAt } = judgement;
  const chain = chainOf(vault, judgement).map((link) => references.to(link));
  // Of an open exchange, the chain has the starts before the failures.
  const exchange =
    judgement.state === "exchange-open"
      ? openExchange(rules, vault, chain[vault.starts.length - 1], asOf)
      : undefined;
  if (verdict !== "locked" && chain.length > 1)
    chain.sort((a, b) => Date.parse(a.at) - Date.parse(b.at) || a.line - b.line);
  const trace = context.traces?.get(vault.number);
  const refused = trace === undefined ? undefined : refusedOf(references, trace);
  const cause =
    verdict === "locked"
      ? { ...causeOf(judgement, chain, vault, rules), ...defined({ refused }) }
      : undefined;
  const { uuid, unackedStarts, failedAttempts } = vault;
  const label = context.labels.get(uuid);
  const since = lockedAt ?? (verdict === "deleted" ? vault.ending?.since : undefined);
  return defined({
    uuid,
    label: label === undefined ? null : references.pseudonyms.of("label", label),
    verdict,
    exchange,
    unackedStarts,
    failedAttempts,
    cause,
    certainty,
    reason: judgement.reason,
    state: judgement.state,
    since: since === undefined ? undefined : iso(since),
    lockedAt: lockedAt === undefined ? undefined : iso(lockedAt),
    items: vault.items,
    firstAt: iso(vault.firstTime),
    lastAt: iso(vault.lastTime),
    who: whoOf(chain),
    counting: verdict === "locked" || verdict === "deleted" ? [] : chain,
    contradictions: vault.doubts.contradictions.map(({ kind, item: location }) => {
      const item = references.to(location);
      return { at: item.at, kind, text: contradictionText(kind, item, rules), item };
    }),
    moreContradictions: vault.doubts.moreContradictions,
    explanation: [],
    advice: adviceOf(
      { uuid, verdict, exchange, unackedStarts, failedAttempts, cause, certainty },
      { rules, now: context.now, isWholeLog: context.isWholeLog },
    ),
    ...timelineOf(context, vault, chain),
  });
}

/** Returns the rule of a lock, with the number and the origins, not redacted, of the items that led to it or count toward lockout. */
export function evidenceOf(
  context: ReportContext,
  vault: Vault,
): { rule: LockRule | undefined; items: number; who: VaultReport["who"] } {
  const judgement = judgementOf(context, vault);
  const chain = chainOf(vault, judgement).map((link) => context.references.raw(link));
  return { rule: judgement.rule, items: chain.length, who: whoOf(chain) };
}

/** Returns the items that led to the lock, or that count toward lockout. */
export const chainIn = (context: ReportContext, vault: Vault): readonly ItemLocation[] =>
  chainOf(vault, statusOf(context, vault));

function chainOf(vault: Vault, { verdict, rule }: VaultStatus): readonly ItemLocation[] {
  const { ending, starts, failures } = vault;
  switch (verdict) {
    case "locked":
      if (rule === "failed-attempts") return failures;
      if (rule === "unacknowledged-starts") return starts;
      return rule === "auto-lock" || ending === undefined ? [] : [ending.item];
    case "deleted":
      return ending === undefined ? [] : [ending.item];
    case "at-risk":
    case "open-exchange":
    case "unknown":
    case "ok":
      return [...starts, ...failures];
  }
}

function openExchange(
  { tokenLifetimeMs }: Rules,
  { pending, lastStart }: Vault,
  item: ItemReference | undefined,
  asOf: number,
): VaultReport["exchange"] {
  if (pending === undefined || item === undefined) return undefined;
  const expiry = lastStart + tokenLifetimeMs;
  return {
    operation: pending,
    externalRef: item.externalRef ?? null,
    startedAt: item.at,
    tokenExpiry: iso(expiry),
    expired: expiry <= asOf,
    item,
  };
}

function whoOf(chain: readonly ItemReference[]): VaultReport["who"] {
  return {
    addresses: tally(chain.map(({ address }) => address)),
    externalRefs: tally(chain.map(({ externalRef }) => externalRef)),
    endpoints: tally(chain.map(({ endpoint }) => endpoint)),
    applications: tally(chain.map(({ application }) => application)),
  };
}

/** Counts equal values, most frequent first. */
function tally(values: readonly (string | undefined)[]): Tally[] {
  const counts: Tally[] = [];
  for (const value of values) {
    if (value === undefined) continue;
    const known = counts.find((other) => other.value === value);
    if (known === undefined) counts.push({ value, count: 1 });
    else known.count += 1;
  }
  return counts.length > 1 ? counts.sort((a, b) => b.count - a.count) : counts;
}

function timelineOf(
  { timelines, references }: ReportContext,
  vault: Vault,
  chain: readonly ItemReference[],
): Pick<VaultReport, "timeline" | "timelineOmitted"> {
  if (timelines === undefined) return {};
  const causes = new Set(chain.map(({ input, line }) => `${line} ${input}`));
  const { events, omitted } = timelines.of(vault);
  const timeline = events.map((entry) => eventOf(entry, references, causes));
  return { timeline, ...(omitted === 0 ? {} : { timelineOmitted: omitted }) };
}

function eventOf(
  entry: TimelineEntry,
  references: References,
  causes: ReadonlySet<string>,
): TimelineEvent {
  const item = references.to(entry.item);
  return {
    item,
    unackedStarts: entry.unackedStarts,
    failedAttempts: entry.failedAttempts,
    state:
      entry.condition === "active" ? (entry.isOpen ? "exchange-open" : "active") : entry.condition,
    isCause: causes.has(`${item.line} ${item.input}`),
    locks: entry.locks,
  };
}

/** Describes a contradiction and possible explanations. */
function contradictionText(kind: Contradiction["kind"], item: ItemReference, rules: Rules): string {
  switch (kind) {
    case "acknowledgement-without-start":
      return `${item.action} without a start before it: an item is missing, or the start was acknowledged twice`;
    case "acknowledgement-after-expiry":
      return `${item.action} more than ${rules.tokenLifetimeMs / 1000} s after its start: the token lifetime is longer than assumed (--token-lifetime), or an item is missing`;
    case "acknowledgement-of-other-operation":
      return `${item.action} for the other operation: an item is missing`;
    case "activity-after-deletion":
      return `${item.action} after the vault was deleted`;
    case "activity-while-locked":
      return `${item.action} accepted while the vault is locked: an unlock is not in the log, or the limits differ from those assumed`;
    case "activity-before-creation":
      return `${item.action} after other items of the same vault`;
    case "created-twice":
      return `${item.action} a second time`;
    case "locked-at-another-moment":
      return `${item.action} records a lock that the rules do not explain: the limits differ from those assumed, or an item is missing`;
    case "refused-while-open":
      return `${item.action} refused because of a lock that the log does not show: an item is missing, or the limits differ from those assumed`;
  }
}
