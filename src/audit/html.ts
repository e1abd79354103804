import type { ReplaySummary, ReenactmentReport, VaultReport, WhatIfReport } from "./report.ts";

// A stand-in, to compile against.

export interface PageOptions {
  summary: ReplaySummary;
  /** Worst first. */
  vaults: Iterable<VaultReport>;
  whatIf?: WhatIfReport;
  reenactment?: ReenactmentReport;
  /** Milliseconds since the epoch: when the page is made. */
  now: number;
}

export function* auditPage(_options: PageOptions): Generator<string> {
  yield "<!doctype html>\n<title>stand-in</title>\n";
}
