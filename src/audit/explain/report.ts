import { defined } from "../../defined.ts";
import type {
  Contradiction,
  Selected,
  TimelineEvent,
  VaultReport,
  WhatIfReport,
} from "../../documents/audit.ts";
import type { Fold } from "../fold/fold.ts";
import type { WhatIf } from "../flags.ts";
import type { Verdict } from "../fold/events.ts";
import { verdicts } from "../fold/events.ts";
import type { Vault } from "../fold/vault.ts";
import { adviceOf, lockOf } from "./advice.ts";
import { chainOf, countsAsStart, whoOf } from "./evidence.ts";
import { explain } from "./explanation.ts";
import type { Log, VaultEvent } from "./log.ts";
import { eventsOf, itemAt } from "./log.ts";
import { judge } from "./verdict.ts";

/** Latest time that a Date can hold. */
const latest = 8.64e15;

const iso = (time: number): string => new Date(Math.min(time, latest)).toISOString();

/** A vault with its verdict. */
export interface Ranked {
  vault: Vault;
  verdict: Verdict;
}

/** Returns the vaults to report, sorted by verdict, worst first, then by time of the lock or the last item, newest first. */
export function rankVaults(log: Log): Ranked[] {
  const found: (Ranked & { rank: number; time: number })[] = [];
  for (const vault of log.fold.vaults) {
    if (vault === undefined || log.selection?.has(vault.number) === false) continue;
    const { verdict, lockedAt } = judge(log, vault);
    const rank = verdicts.indexOf(verdict);
    found.push({ vault, verdict, rank, time: lockedAt ?? vault.lastTime });
  }
  return found.sort(
    (a, b) => a.rank - b.rank || b.time - a.time || a.vault.number - b.vault.number,
  );
}

/** Describes the selection, of which the report has `vaults`. */
export const selectedOf = (log: Log, vaults: number): Selected | undefined =>
  log.selection && {
    where: log.selection.conditions.map((condition) => log.pseudonyms.condition(condition)),
    vaults,
    of: log.fold.vaults.filter((vault) => vault !== undefined).length,
  };

/** Creates the report on a vault. */
export function reportOf(log: Log, vault: Vault): VaultReport {
  const judgement = judge(log, vault);
  const { verdict, certainty, reason, state, lockedAt } = judgement;
  const { uuid } = vault;
  const events = eventsOf(log, vault);
  const chain = chainOf(events.before, vault, judgement);
  const items = chain.map(({ item }) => item);
  const explanation = explain(log, vault, judgement, chain, events);
  const isOpen = state === "exchange-open";
  const exchange = isOpen ? openExchange(log, vault, events.before) : undefined;
  const { cause, advice } =
    verdict === "locked"
      ? lockOf(log, vault, judgement, chain, explanation)
      : { advice: adviceOf(log, vault, { verdict, certainty }, exchange, explanation) };
  const label = log.labels?.get(uuid);
  const since = lockedAt ?? (verdict === "deleted" ? vault.ending?.since : undefined);
  return defined({
    uuid,
    verdict,
    certainty,
    unackedStarts: vault.unackedStarts,
    failedAttempts: vault.failedAttempts,
    exchange,
    cause,
    label: label === undefined ? null : log.pseudonyms.of("label", label),
    reason,
    state,
    since: since === undefined ? undefined : iso(since),
    lockedAt: lockedAt === undefined ? undefined : iso(lockedAt),
    items: vault.items,
    firstAt: iso(vault.firstTime),
    lastAt: iso(vault.lastTime),
    who: whoOf(items),
    counting: verdict === "locked" || verdict === "deleted" ? [] : items,
    contradictions: vault.contradictions.map(({ kind, item: location }) => {
      const item = itemAt(log, location);
      return { at: item.at, kind, text: `${item.action} ${contradictionTexts[kind]}`, item };
    }),
    moreContradictions: vault.moreContradictions,
    explanation: explanation.sentences,
    advice,
    ...(log.hasTimelines && timelineOf(vault, [...events.before, ...events.since], chain)),
  });
}

function openExchange(
  { fold, asOf }: Log,
  { pending, lastStart }: Vault,
  events: readonly VaultEvent[],
): VaultReport["exchange"] {
  const start = events.findLast((one) => one.time === lastStart && countsAsStart(one));
  if (pending === undefined || start === undefined) return undefined;
  const { item } = start;
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

function timelineOf(
  vault: Vault,
  events: readonly VaultEvent[],
  chain: readonly VaultEvent[],
): Pick<VaultReport, "timeline" | "timelineOmitted"> {
  const timeline = events.map((event): TimelineEvent => {
    const { item, unackedStarts, failedAttempts, condition, isOpen, locks } = event;
    const state = condition === "active" && isOpen ? "exchange-open" : condition;
    return { item, unackedStarts, failedAttempts, state, isCause: chain.includes(event), locks };
  });
  const timelineOmitted = vault.items - events.length;
  return { timeline, ...(timelineOmitted > 0 && { timelineOmitted }) };
}

/** Maximum number of vaults that a difference lists; more are counted only. */
const maxListed = 1000;

/** Lists the vaults for which the change makes a difference in verdict, state, lock or counters, in the given order. */
export function whatIfReport(
  { text }: WhatIf,
  log: Log,
  fold: Fold,
  ranked: readonly Ranked[],
): WhatIfReport {
  const before = { ...log, hasTimelines: false };
  const after = { ...before, fold, isWhole: false };
  const report: WhatIfReport = { change: text, vaults: [], unchanged: 0, moreChanged: 0 };
  for (const { vault } of ranked) {
    const changed = fold.vaults[vault.number];
    if (changed === undefined || keyOf(before, vault) === keyOf(after, changed))
      report.unchanged += 1;
    else if (report.vaults.length === maxListed) report.moreChanged += 1;
    else
      report.vaults.push({
        uuid: vault.uuid,
        before: reportOf(before, vault),
        after: reportOf(after, changed),
      });
  }
  return report;
}

/** Tells verdicts apart. */
function keyOf(log: Log, vault: Vault): string {
  const { verdict, state, lockedAt, rule } = judge(log, vault);
  return [verdict, state, lockedAt, rule, vault.unackedStarts, vault.failedAttempts].join();
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
