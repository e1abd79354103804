import { defined } from "../../defined.ts";
import type {
  Contradiction,
  ItemReference,
  Selected,
  TimelineEvent,
  VaultReport,
  WhatIfReport,
} from "../../documents/audit.ts";
import type { Fold } from "../fold/fold.ts";
import type { Seen } from "../fold/rings.ts";
import type { WhatIf } from "../fold/rules.ts";
import type { Vault } from "../fold/vault.ts";
import type { Selection } from "../selection.ts";
import { adviceOf } from "./advice.ts";
import { causeOf } from "./cause.ts";
import { chainOf, countsAsStart, eventsOf, eventsSince, whoOf } from "./evidence.ts";
import { explain } from "./explanation.ts";
import type { References } from "./references.ts";
import type { Verdict } from "./severity.ts";
import { verdicts } from "./severity.ts";
import type { Doubts, Judgement, VaultStatus } from "./verdict.ts";
import { judge, statusAt } from "./verdict.ts";

/** Everything that reports are created from. */
export interface ReportContext {
  fold: Fold;
  /** Vaults to report; absent for all. */
  selection: Selection | undefined;
  /** By UUID, in lower case. */
  labels: ReadonlyMap<string, string>;
  references: References;
  hasTimelines: boolean;
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

export const judgementOf = (
  { fold, references, doubts, asOf }: ReportContext,
  vault: Vault,
): Judgement => judge(fold, vault, asOf, doubts, references.itemOf);

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
  const { fold, references, now, isWholeLog } = context;
  const { rules } = fold;
  const judgement = judgementOf(context, vault);
  const { verdict, certainty, lockedAt } = judgement;
  const seen = chainOf(fold, vault, judgement);
  const chain = seen.map((one) => references.to(one));
  const explanation = explain(fold, references, vault, judgement, seen);
  const { uuid, unackedStarts, failedAttempts } = vault;
  const label = context.labels.get(uuid);
  const since = lockedAt ?? (verdict === "deleted" ? vault.ending?.since : undefined);
  const known = defined({
    uuid,
    verdict,
    certainty,
    unackedStarts,
    failedAttempts,
    exchange: judgement.state === "exchange-open" ? openExchange(context, vault) : undefined,
    cause:
      verdict === "locked"
        ? causeOf(judgement, chain, vault, rules, explanation.refused)
        : undefined,
  });
  const beginsLate = !vault.hasKnownCounters;
  return defined({
    ...known,
    label: label === undefined ? null : references.pseudonyms.of("label", label),
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
      return { at: item.at, kind, text: `${item.action} ${contradictionTexts[kind]}`, item };
    }),
    moreContradictions: vault.doubts.moreContradictions,
    explanation: explanation.sentences,
    advice: adviceOf(known, { rules, now, isWholeLog, beginsLate, explanation }),
    ...timelineOf(context, vault, chain),
  });
}

function openExchange(
  { fold, references, asOf }: ReportContext,
  vault: Vault,
): VaultReport["exchange"] {
  const { pending, lastStart } = vault;
  const start = eventsOf(fold, vault).findLast(
    ({ time, event }) => time === lastStart && countsAsStart(event),
  );
  if (pending === undefined || start === undefined) return undefined;
  const item = references.to(start);
  const expiry = lastStart + fold.rules.tokenLifetimeMs;
  return {
    operation: pending,
    externalRef: item.externalRef ?? null,
    startedAt: item.at,
    tokenExpiry: iso(expiry),
    expired: expiry <= asOf,
    item,
  };
}

/** Maximum number of vaults that a difference lists; more are counted only. */
const maxListed = 1000;

/** Lists the vaults for which the change makes a difference in verdict, state, lock or counters, in the given order. */
export function whatIfReport(
  { text }: WhatIf,
  before: ReportContext,
  after: ReportContext,
  ranked: readonly Ranked[],
): WhatIfReport {
  const report: WhatIfReport = { change: text, vaults: [], unchanged: 0, moreChanged: 0 };
  const without = { hasTimelines: false };
  for (const { vault } of ranked) {
    const changed = after.fold.vaults[vault.number];
    if (changed === undefined || !differs(before, vault, after, changed)) report.unchanged += 1;
    else if (report.vaults.length === maxListed) report.moreChanged += 1;
    else
      report.vaults.push({
        uuid: vault.uuid,
        before: reportOf({ ...before, ...without }, vault),
        after: reportOf({ ...after, ...without }, changed),
      });
  }
  return report;
}

function differs(
  before: ReportContext,
  vault: Vault,
  after: ReportContext,
  changed: Vault,
): boolean {
  const [a, b] = [statusOf(before, vault), statusOf(after, changed)];
  return (
    vault.unackedStarts !== changed.unackedStarts ||
    vault.failedAttempts !== changed.failedAttempts ||
    a.verdict !== b.verdict ||
    a.state !== b.state ||
    a.lockedAt !== b.lockedAt ||
    a.rule !== b.rule
  );
}

function timelineOf(
  { fold, references, hasTimelines }: ReportContext,
  vault: Vault,
  chain: readonly ItemReference[],
): Pick<VaultReport, "timeline" | "timelineOmitted"> {
  if (!hasTimelines) return {};
  const causes = new Set(chain.map(({ input, line }) => `${line} ${input}`));
  const events = [...eventsOf(fold, vault), ...eventsSince(fold, vault)];
  const omitted = vault.items - events.length;
  const timeline = events.map((seen) => eventOf(seen, references, causes));
  return { timeline, ...(omitted === 0 ? {} : { timelineOmitted: omitted }) };
}

function eventOf(seen: Seen, references: References, causes: ReadonlySet<string>): TimelineEvent {
  const { condition, isOpen, unackedStarts, failedAttempts, locks } = seen;
  const item = references.to(seen);
  return {
    item,
    unackedStarts,
    failedAttempts,
    state: condition === "active" && isOpen ? "exchange-open" : condition,
    isCause: causes.has(`${item.line} ${item.input}`),
    locks,
  };
}

const missing = "an item is missing";
const otherLimits = "the limits differ from those assumed";

/** What contradicts the log, behind the action of its item, and possible explanations. */
const contradictionTexts: Record<Contradiction["kind"], string> = {
  "acknowledgement-without-start": `without a start before it: ${missing}, it was acknowledged twice, or the clocks differ`,
  "acknowledgement-before-start":
    "is dated after its own acknowledgement: the clocks differ, and they count as a pair",
  "acknowledgement-after-expiry": `after the token of its start had expired: tokens live longer than assumed (--token-lifetime), or ${missing}`,
  "acknowledgement-of-other-operation": `for the other operation: ${missing}`,
  "activity-after-deletion": "after the vault was deleted",
  "activity-while-locked": `accepted while the vault is locked: an unlock is not in the log, or ${otherLimits}`,
  "activity-before-creation": "after other items of the same vault",
  "created-twice": "a second time",
  "locked-at-another-moment": `records a lock that the rules do not explain: ${otherLimits}, or ${missing}`,
  "refused-while-open": `refused because of a lock that the log does not show: ${missing}, or ${otherLimits}`,
};
