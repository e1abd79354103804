import type { WhatIf } from "../fold/rules.ts";
import type { ReportContext, Ranked } from "./vault-reports.ts";
import { statusOf, reportOf } from "./vault-reports.ts";
import type { Vault } from "../fold/vault.ts";
import type { WhatIfReport } from "../../documents/audit.ts";

/** Maximum number of vaults listed; more are counted only. */
const maxListed = 1000;

/** Lists the vaults for which the change makes a difference in verdict, state, lock or counters, in the given order. */
export function whatIfReport(
  whatIf: WhatIf,
  before: ReportContext,
  after: ReportContext,
  vaults: readonly Ranked[],
): WhatIfReport {
  const report: WhatIfReport = {
    change: whatIf.text,
    vaults: [],
    unchanged: 0,
    moreChanged: 0,
  };
  for (const { vault } of vaults) {
    const changed = after.fold.vaults[vault.number];
    if (changed === undefined || !differs(before, vault, after, changed)) report.unchanged += 1;
    else if (report.vaults.length === maxListed) report.moreChanged += 1;
    else {
      report.vaults.push({
        uuid: vault.uuid,
        before: reportOf({ ...before, timelines: undefined }, vault),
        after: reportOf({ ...after, timelines: undefined }, changed),
      });
    }
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
