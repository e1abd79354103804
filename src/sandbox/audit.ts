import { gzipSync } from "node:zlib";
import type { AuditItem } from "../documents/sandbox.ts";

const columns = [
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
] as const;

type Format = (items: readonly AuditItem[]) => string | Uint8Array;

/** The formats of an export by file extension; each may be followed by `.gz`. */
const formats: Record<string, (items: readonly AuditItem[]) => string> = {
  ".ndjson": (items) => items.map((item) => `${JSON.stringify(item)}\n`).join(""),
  /** RFC 4180 with a header line; null is an empty cell. */
  ".csv": (items) => {
    const rows = [columns, ...items.map((item) => columns.map((column) => item[column] ?? ""))];
    return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
  },
};

/** Returns the formatter for a file name's extension, in either case; undefined for another. */
export function auditExport(file: string): Format | undefined {
  const [, suffix = "", gz] = /(\.[a-z]+)(\.gz)?$/.exec(file.toLowerCase()) ?? [];
  const format = formats[suffix];
  if (format === undefined || gz === undefined) return format;
  return (items) => gzipSync(format(items));
}

/** Quotes a cell, and defuses a formula: external references are any text from a client. */
function cell(text: string): string {
  const defused = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(defused) ? `"${defused.replaceAll('"', '""')}"` : defused;
}
