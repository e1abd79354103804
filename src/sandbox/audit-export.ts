import type { AuditItem } from "./state.ts";

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

/** One JSON object a line. */
export const auditToNdjson = (items: readonly AuditItem[]): string => items.map((item) => `${JSON.stringify(item)}\n`).join("");

/** RFC 4180 with a header line; null is an empty cell. */
export function auditToCsv(items: readonly AuditItem[]): string {
  const rows = [columns, ...items.map((item) => columns.map((column) => item[column] ?? ""))];
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** A spreadsheet runs a cell that begins like a formula; an external reference is whatever a client sent. */
function cell(text: string): string {
  const defused = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(defused) ? `"${defused.replaceAll('"', '""')}"` : defused;
}
