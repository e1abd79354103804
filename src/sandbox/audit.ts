import { gzipSync } from "node:zlib";
import type { AuditItem } from "../documents/sandbox.ts";
import { newUuid } from "./random.ts";
import type { World } from "./state.ts";

/**
 * The current names (docs/interface.md, Audit items), and two invented ones for failed checks of key and address, whose items have no
 * documented name. A failed attempt is READ_VAULT, UPDATE_VAULT or DELETE_VAULT with the outcome FAILURE.
 */
export type AuditAction =
  | "CREATE_VAULT"
  | "READ_VAULT"
  | "ACKNOWLEDGE_READ_VAULT"
  | "UPDATE_VAULT"
  | "ACKNOWLEDGE_UPDATE_VAULT"
  | "DELETE_VAULT"
  | "API_KEY_CHECK"
  | "ADDRESS_CHECK";

/** Appends an audit item, at the current time by default. */
export function record(
  world: World,
  item: Partial<AuditItem> & { action: AuditAction; description: string },
  time = world.now,
): void {
  world.state.audit.push({
    id: newUuid(world.random),
    time: new Date(time).toISOString(),
    outcome: "SUCCESS",
    vaultUuid: null,
    applicationUuid: world.state.application.uuid,
    externalRef: null,
    ipAddress: null,
    endpoint: null,
    ...item,
  });
}

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

/** Returns the formatter for the extension of a file name, in either case; undefined for an unknown extension. */
export function auditExport(file: string): Format | undefined {
  const [, suffix = "", gz] = /(\.[a-z]+)(\.gz)?$/.exec(file.toLowerCase()) ?? [];
  const format = formats[suffix];
  if (format === undefined || gz === undefined) return format;
  return (items) => gzipSync(format(items));
}

/** Quotes a cell, and defuses one that a spreadsheet would run as a formula: an external reference is any text from a client. */
function cell(text: string): string {
  const defused = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(defused) ? `"${defused.replaceAll('"', '""')}"` : defused;
}
