import type { ReenactmentReport, ReplaySummary, VaultReport, WhatIfReport } from "./report.ts";

// A stand-in, to compile against.

export interface HtmlParts {
  title: string;
  /** ISO 8601. */
  generatedAt: string;
  summary: ReplaySummary;
  /** Worst first. */
  vaults: Iterable<VaultReport>;
  whatIf?: WhatIfReport;
  reenactment?: ReenactmentReport;
}

export function* writeHtml({ title }: HtmlParts): Generator<string, void, undefined> {
  yield `<!doctype html>\n<title>${title.length}</title>\n`;
}
