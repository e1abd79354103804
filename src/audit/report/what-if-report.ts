import type { WhatIf } from "../fold/rules.ts";
import type { ReportContext, Ranked } from "./vault-reports.ts";
import { statusOf, reportOf } from "./vault-reports.ts";
import { Vault } from "../fold/vault.ts";
import { count } from "../../terminal/count.ts";
import type { WhatIfReport } from "../../documents/audit.ts";

/** Maximum number of vaults listed; more are counted only. */
const maxListed = 1000;

/** Lists the vaults for which the change makes a difference in verdict, state, lock or counters, in the given order. */
export function whatIfReport(
  whatIf: WhatIf,
  before: ReportContext,
  after: ReportContext,
  vaults: readonly Ranked[],
  { touched, tooLate }: Touched,
): WhatIfReport {
  const report: WhatIfReport = {
    change: whatIf.text,
    vaults: [],
    unchanged: 0,
    moreChanged: 0,
    ...(whatIf.type === "rules" ? {} : { touched }),
    notes: notesOf(whatIf, { touched, tooLate }),
  };
  for (const { vault } of vaults) {
    // Without all of its items, a vault is as it was before the first of them.
    const changed =
      after.fold.vaults[vault.number] ?? new Vault(vault.uuid, vault.number, vault.firstTime);
    if (!differs(before, vault, after, changed)) report.unchanged += 1;
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

/** Number of changes made. */
interface Touched {
  touched: number;
  /** Number of exchanges whose token had expired. */
  tooLate: number;
}

function notesOf({ type }: WhatIf, { touched, tooLate }: Touched): string[] {
  if (type === "rules") return [];
  const late =
    tooLate === 0 ? [] : [`too late for ${count(tooLate, "exchange")}: the token had expired`];
  if (touched > 0 || tooLate > 0) return late;
  return [type === "ack" ? "no exchange was open at that time" : "no item has that time"];
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
