import { clip } from "../clip.ts";
import type { Item, Role } from "../item.ts";
import { roles } from "../item.ts";
import { uuidInEndpoint, uuidOf } from "./looks.ts";
import { parseTime } from "./times.ts";
import type { Columns } from "../../../documents/audit.ts";

/**
 * Creates an item from a record, or returns why it is not one. Values stay as they are, except the vault: it is the uuid, in lower case,
 * even if the value is a path that contains it.
 */
export function itemOf(
  fields: ReadonlyMap<string, string>,
  columns: Columns,
  input: number,
  line: number,
): Item | { reason: string } {
  const values = valuesByRole(fields, columns);
  if (values.time === undefined) return { reason: "no time" };
  const time = parseTime(values.time);
  if (time === null) return { reason: `invalid time: ${clip(values.time)}` };
  if (values.action === undefined) return { reason: "no action" };
  return {
    input,
    line,
    time,
    action: values.action,
    vault: vaultOf(values.vault ?? values.endpoint ?? ""),
    outcome: values.outcome ?? null,
    description: values.description ?? null,
    application: values.application ?? null,
    address: values.ip ?? null,
    endpoint: values.endpoint ?? null,
    externalRef: values.ref ?? null,
    id: values.id ?? null,
  };
}

function valuesByRole(
  fields: ReadonlyMap<string, string>,
  columns: Columns,
): Partial<Record<Role, string>> {
  const values: Partial<Record<Role, string>> = {};
  for (const role of roles) {
    const column = columns[role];
    const value = column === undefined ? undefined : fields.get(column.name);
    if (value !== undefined) values[role] = value;
  }
  return values;
}

/** Returns the uuid in the value of a vault's column, in lower case; another text as it is; null for a path without one. */
export function vaultOf(value: string): string | null {
  const uuid = uuidOf(value);
  if (uuid !== null) return uuid;
  const text = value.trim().toLowerCase();
  // A path without a uuid names no vault (`POST /vault/credit-card/offline` creates one).
  return text.includes("/") ? uuidInEndpoint(text) : text === "" ? null : text;
}
