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

/** One JSON object a line. */
export const auditToNdjson = (items: readonly AuditItem[]): string => items.map((item) => `${JSON.stringify(item)}\n`).join("");

/** RFC 4180 with a header line; null is an empty cell. */
export const auditToCsv = (items: readonly AuditItem[]): string => rows(items, ",");

/** The same with tabs between the cells, which are quoted as in CSV. */
const auditToTsv = (items: readonly AuditItem[]): string => rows(items, "\t");

/** One array, a line an item. */
const auditToJson = (items: readonly AuditItem[]): string =>
  items.length === 0 ? "[]\n" : `[\n${items.map((item) => JSON.stringify(item)).join(",\n")}\n]\n`;

/** The forms by the ending of a file's name, each also with `.gz` behind it. */
const forms: Record<string, (items: readonly AuditItem[]) => string> = {
  ".ndjson": auditToNdjson,
  ".jsonl": auditToNdjson,
  ".json": auditToJson,
  ".csv": auditToCsv,
  ".tsv": auditToTsv,
};

export const exportEndings: readonly string[] = Object.keys(forms);

/** What writes the form that a file's name asks for; undefined where its ending is not a known one. Capitals do not matter. */
export function auditExport(file: string): ((items: readonly AuditItem[]) => string | Uint8Array) | undefined {
  const [, ending = "", gz] = /(\.[a-z]+)(\.gz)?$/.exec(file.toLowerCase()) ?? [];
  const form = forms[ending];
  if (form === undefined || gz === undefined) return form;
  return (items) => gzipSync(form(items));
}

function rows(items: readonly AuditItem[], separator: string): string {
  const lines = [columns, ...items.map((item) => columns.map((column) => item[column] ?? ""))];
  return lines.map((row) => `${row.map((text) => cell(text, separator)).join(separator)}\r\n`).join("");
}

/** A spreadsheet runs a cell that begins like a formula; an external reference is whatever a client sent. */
function cell(text: string, separator: string): string {
  const defused = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /["\r\n]/.test(defused) || defused.includes(separator) ? `"${defused.replaceAll('"', '""')}"` : defused;
}
