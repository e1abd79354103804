import { gzipSync } from "node:zlib";
import type { AuditItem } from "../model/state.ts";

const columns: readonly (keyof AuditItem)[] = [
  "id",
  "time",
  "action",
  "outcome",
  "vaultUuid",
  "applicationUuid",
  "externalRef",
  "ipAddress",
  "endpoint",
  "description",
];

/** Formats items as NDJSON. */
export const auditToNdjson = (items: readonly AuditItem[]): string =>
  items.map((item) => `${JSON.stringify(item)}\n`).join("");

/** Formats items as CSV (RFC 4180) with a header line; null is an empty cell. */
export function auditToCsv(items: readonly AuditItem[]): string {
  const lines = [columns, ...items.map((item) => columns.map((column) => item[column] ?? ""))];
  return lines.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** Formats by file extension; each may be followed by `.gz`. */
const forms: Record<string, (items: readonly AuditItem[]) => string> = {
  ".ndjson": auditToNdjson,
  ".csv": auditToCsv,
};

/** Returns the formatter for the extension of a file name, in either case; undefined for an unknown extension. */
export function auditExport(
  file: string,
): ((items: readonly AuditItem[]) => string | Uint8Array) | undefined {
  const [, suffix = "", gz] = /(\.[a-z]+)(\.gz)?$/.exec(file.toLowerCase()) ?? [];
  const form = forms[suffix];
  if (form === undefined || gz === undefined) return form;
  return (items) => gzipSync(form(items));
}

/** Quotes a cell, and defuses one that a spreadsheet would run as a formula: an external reference is any text from a client. */
function cell(text: string): string {
  const defused = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(defused) ? `"${defused.replaceAll('"', '""')}"` : defused;
}
