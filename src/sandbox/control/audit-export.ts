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
export const auditToCsv = (items: readonly AuditItem[]): string => rows(items, ",");

/** Formats items as tab-separated values, quoted as in CSV. */
const auditToTsv = (items: readonly AuditItem[]): string => rows(items, "\t");

/** Formats items as a JSON array with a line for each item. */
const auditToJson = (items: readonly AuditItem[]): string =>
  items.length === 0 ? "[]\n" : `[\n${items.map((item) => JSON.stringify(item)).join(",\n")}\n]\n`;

/** Formats by file extension; each may be followed by `.gz`. */
const forms: Record<string, (items: readonly AuditItem[]) => string> = {
  ".ndjson": auditToNdjson,
  ".jsonl": auditToNdjson,
  ".json": auditToJson,
  ".csv": auditToCsv,
  ".tsv": auditToTsv,
};

export const exportEndings: readonly string[] = Object.keys(forms);

/** Returns the formatter for the extension of a file name, in either case; undefined for an unknown extension. */
export function auditExport(
  file: string,
): ((items: readonly AuditItem[]) => string | Uint8Array) | undefined {
  const [, suffix = "", gz] = /(\.[a-z]+)(\.gz)?$/.exec(file.toLowerCase()) ?? [];
  const form = forms[suffix];
  if (form === undefined || gz === undefined) return form;
  return (items) => gzipSync(form(items));
}

function rows(items: readonly AuditItem[], separator: string): string {
  const lines = [columns, ...items.map((item) => columns.map((column) => item[column] ?? ""))];
  return lines
    .map((row) => `${row.map((text) => cell(text, separator)).join(separator)}\r\n`)
    .join("");
}

/** Quotes a cell, and defuses one that a spreadsheet would run as a formula: an external reference is any text from a client. */
function cell(text: string, separator: string): string {
  const defused = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /["\r\n]/.test(defused) || defused.includes(separator)
    ? `"${defused.replaceAll('"', '""')}"`
    : defused;
}
