import type { Report } from "../../src/audit/print/outline.ts";
import { markdownReport } from "../../src/audit/print/markdown.ts";
import { pageReport } from "../../src/audit/print/page.ts";
import { terminalReport } from "../../src/audit/print/terminal.ts";
import { plain } from "../../src/terminal/palette.ts";
import type { TableOptions } from "../../src/terminal/tables.ts";

export const viewOf = (columns = 1000): TableOptions => ({ isTTY: true, columns, palette: plain });

/** A report as each printer prints it; `vaults` must be a list, because each of them reads it. */
export const printed = (report: Report & { vaults: readonly unknown[] }, view = viewOf()) => ({
  terminal: terminalReport(report, view),
  timeline: terminalReport(report, view, { timeline: true }),
  markdown: [...markdownReport(report)].join(""),
  page: [
    ...pageReport({ title: "Ticket 4711", generatedAt: "2026-11-20T16:00:00Z", ...report }),
  ].join(""),
});
