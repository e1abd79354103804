import { defined } from "../../defined.ts";
import type { InputReport, Origin, ReplaySummary } from "../../documents/audit.ts";
import type { VaultReport, WhatIfReport } from "../../documents/audit.ts";
import { count, grouped } from "../../terminal/count.ts";
import { listed, said, short } from "../read/clip.ts";
import type { Fold } from "../fold/fold.ts";
import type { WhatIf } from "../flags.ts";
import type { Vault } from "../fold/vault.ts";
import { contradictions, isProblem, type Verdict, verdicts } from "../read/item.ts";
import { countsAsStart, evidenceOf, judge } from "./verdict.ts";
import { clientOf, clientWords, inBrackets, itemAt, type Log, type VaultEvent } from "./log.ts";
import { explain } from "./explanation.ts";

/** At most the latest time that there is. */
const iso = (time: number): string => new Date(Math.min(time, 8.64e15)).toISOString();

export interface Ranked {
  vault: Vault;
  verdict: Verdict;
  certainty: VaultReport["certainty"];
}

/** Returns the vaults to report: worst verdict first, then newest lock or last item first. */
export function rankVaults(log: Log): Ranked[] {
  const found: (Ranked & { rank: number; time: number })[] = [];
  for (const vault of log.fold.vaults) {
    if (vault === undefined || log.selection?.has(vault.number) === false) continue;
    const { verdict, certainty, lockedAt } = judge(log, vault);
    const rank = verdicts.indexOf(verdict);
    found.push({ vault, verdict, certainty, rank, time: lockedAt ?? vault.lastTime });
  }
  return found.sort(
    (a, b) => a.rank - b.rank || b.time - a.time || a.vault.number - b.vault.number,
  );
}

export function reportOf(log: Log, vault: Vault): VaultReport {
  const { fold, labels, asOf, pseudonyms } = log;
  const { uuid, unackedStarts, failedAttempts, lastStart } = vault;
  const evidence = evidenceOf(log, vault);
  const { verdict, certainty, reason, lockedAt, chain, before, since } = evidence;
  const isEnded = verdict === "locked" || verdict === "deleted";
  const isOpen = !isEnded && vault.pending > 0;
  const state: VaultReport["state"] = isEnded ? verdict : isOpen ? "exchange-open" : "active";
  const isStart = (one: VaultEvent): boolean => one.seen.time === lastStart && countsAsStart(one);
  const start = isOpen ? before.findLast(isStart) : undefined;
  const expiry = lastStart + fold.rules.tokenLifetimeMs;
  const exchange: VaultReport["exchange"] = start && {
    operation: vault.pending === 2 ? "update" : "get",
    tokenExpiry: iso(expiry),
    expired: expiry <= asOf,
    item: start.item,
  };
  const { cause, explanation, advice } = explain(log, vault, evidence, exchange);
  const events = log.timeline ? [...before, ...since] : undefined;
  const omitted = events === undefined ? 0 : vault.items - events.length;
  const locking = cause?.item && chain.at(-1);
  const label = labels?.get(uuid);
  return defined({
    uuid,
    verdict,
    certainty,
    unackedStarts,
    failedAttempts,
    exchange,
    cause,
    label: label === undefined ? null : pseudonyms.of("label", label),
    reason,
    state,
    lockedAt: lockedAt === undefined ? undefined : iso(lockedAt),
    items: vault.items,
    firstAt: iso(vault.firstTime),
    lastAt: iso(vault.lastTime),
    counting: isEnded ? [] : chain.map(({ item }) => item),
    contradictions: vault.contradictions.map(({ kind, item: location }) => {
      const item = itemAt(log, location);
      return { kind, text: `${item.action} ${contradictions[kind]}`, item };
    }),
    explanation,
    advice,
    timeline: events?.map((event) => {
      const isCause = chain.includes(event);
      return { item: event.item, isCause, locks: event === locking };
    }),
    timelineOmitted: omitted > 0 ? omitted : undefined,
  });
}

/** Maximum number of vaults that a difference lists; more are counted only. */
const maxListed = 1000;

/** Lists, in the given order, vaults whose verdict or lock the change alters. */
export function whatIfReport(
  { text }: WhatIf,
  log: Log,
  fold: Fold,
  ranked: readonly Ranked[],
): WhatIfReport {
  const before = { ...log, timeline: false };
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

function keyOf(log: Log, vault: Vault): string {
  const { verdict, lockedAt, rule } = judge(log, vault);
  return [verdict, lockedAt, rule].join();
}

/** Maximum number of vaults whose items are read again to find out who locked them. */
const maxRead = 500;

/** Answers "what is wrong, and who caused it" across all vaults, which are sorted worst first. */
export function answerOf(
  log: Log,
  vaults: readonly Ranked[],
): Pick<ReplaySummary, "found" | "vaultCount" | "verdicts"> {
  const where = log.selection?.conditions.map((one) => log.pseudonyms.condition(one)) ?? [];
  const of = log.fold.vaults.filter(Boolean).length;
  const byVerdict = Map.groupBy(vaults, ({ verdict }) => verdict);
  const counts = Object.fromEntries(
    verdicts.map((one) => [one, byVerdict.get(one)?.length ?? 0]),
  ) as Record<Verdict, number>;
  const [worst = "ok", ...others] = verdicts.filter((one) => isProblem(one) && counts[one] > 0);
  const all = (isProblem(worst) && byVerdict.get(worst)) || [];
  const read = worst === "locked" || worst === "at-risk" ? all.slice(0, maxRead) : [];
  const by = originsOf(log, read);
  const asked = all.length > 0 ? all : (byVerdict.get("ok") ?? []);
  const unsure = asked.filter((one) => one.certainty === "likely").length;
  const some = unsure === 0 ? "" : `, ${grouped(unsure)} of them probably`;
  const isProbable = unsure > 0 && unsure === asked.length;
  const condition = isProbable ? `probably ${conditions[worst]}` : `${conditions[worst]}${some}`;
  const also = others.map((one) => `${grouped(counts[one])} ${conditions[one]}`).join(", ");
  const gone = counts.deleted === 0 ? "" : `, ${grouped(counts.deleted)} of them deleted`;
  const text = said({
    [`${count(all.length, "vault")} ${condition}${blame(worst, all.length, read.length, by)}.`]:
      all.length > 0,
    [`Also ${also}.`]: also !== "",
    "No vaults found.": of === 0,
    [`${isProbable ? "Probably no locks" : "No locks found"} in ${count(vaults.length, "vault")}${gone}${isProbable ? "" : some}. Locks made in the console appear only if the export records them.`]:
      vaults.length > 0 && all.length === 0,
    [`${grouped(vaults.length)} of ${count(of, "vault")} ${vaults.length === 1 ? "has" : "have"} an item with ${where.map(short).join(" and ")}.`]:
      log.selection !== undefined && of > 0,
  });
  return { found: { text: text.join(" "), by }, vaultCount: vaults.length, verdicts: counts };
}

/** Names the inputs that are cut off, if any: `audit.gz is cut off or damaged at line 812`. */
export function cutWords(inputs: readonly InputReport[]): string | undefined {
  const cut = inputs.filter(({ cutAt }) => cutAt !== undefined);
  const named = cut.map(({ name, cutAt }) => `${name} is cut off or damaged at line ${cutAt}`);
  return named.length === 0 ? undefined : listed(named);
}

const conditions: Record<Verdict, string> = {
  locked: "locked",
  "at-risk": "at risk",
  "open-exchange": "with an open exchange",
  unknown: "without a verdict",
  deleted: "deleted",
  ok: "ok",
};

/** Returns the origins of most of the items that locked vaults, or count toward lockout. */
function originsOf(log: Log, vaults: readonly Ranked[]): Origin[] {
  const origins = vaults.map(({ vault }): Omit<Origin, "vaults"> => {
    const { rule, chain } = evidenceOf(log, vault);
    if (rule === "auto-lock" || rule === "unseen") return { rule };
    return defined({ rule: rule === "administrator" ? rule : undefined, ...clientOf(chain) });
  });
  return [...Map.groupBy(origins, (one) => JSON.stringify(one)).values()]
    .map((same) => ({ vaults: same.length, ...same[0] }))
    .sort((a, b) => b.vaults - a.vaults);
}

/** Describes who caused the problem: ` by …`, or of several origins `; 3 by …, 2 by …`. */
function blame(verdict: Verdict, count: number, read: number, by: readonly Origin[]): string {
  const [first] = by;
  if (first === undefined) return "";
  const preposition = verdict === "locked" ? "by" : "because of";
  if (by.length === 1 && read === count) return ` ${preposition} ${originWords(first)}`;
  const part = read < count ? `of the latest ${grouped(read)}, ` : "";
  const named = by.map((one) => `${grouped(one.vaults)} ${preposition} ${originWords(one)}`);
  return `; ${part}${listed(named)}`;
}

function originWords({ rule, ...client }: Origin): string {
  if (rule === "auto-lock") return "auto-lock";
  if (rule === "unseen") return "a cause not in the log";
  if (rule === "administrator") return `an administrator${inBrackets(client)}`;
  return clientWords(client) || "calls of unknown or mixed origin";
}
