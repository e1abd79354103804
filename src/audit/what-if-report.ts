import type { WhatIfReport } from "./report.ts";
import type { Folded } from "./vault-reports.ts";
import { inOrder, standingOf, reportOf } from "./vault-reports.ts";
import { small } from "./vault-records.ts";

/** More vaults that differ are counted only. */
const mostListed = 1000;

/** What would differ with the change: verdict, state, lock or counters. */
export function whatIfReport(change: string, before: Folded, after: Folded): WhatIfReport {
  const report: WhatIfReport = { change, vaults: [], unchanged: 0, moreChanged: 0 };
  for (const { vault } of inOrder(before)) {
    if (!differs(before, after, vault)) report.unchanged += 1;
    else if (report.vaults.length === mostListed) report.moreChanged += 1;
    else {
      const uuid = before.vaults.uuid(vault);
      report.vaults.push({
        uuid,
        before: reportOf({ ...before, timelines: undefined }, vault),
        after: reportOf({ ...after, timelines: undefined }, vault),
      });
    }
  }
  return report;
}

function differs(before: Folded, after: Folded, vault: number): boolean {
  const [a, b] = [standingOf(before, vault), standingOf(after, vault)];
  const counters = [small.unacked, small.failed].some(
    (at) => before.fold.records.getSmall(vault, at) !== after.fold.records.getSmall(vault, at),
  );
  return counters || a.verdict !== b.verdict || a.state !== b.state || a.lockedAt !== b.lockedAt || a.rule !== b.rule;
}
