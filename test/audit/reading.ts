import { openInput, type Input } from "../../src/audit/read/records/input.ts";
import type { Columns, Item } from "../../src/audit/read/item.ts";
import type { ColumnMap } from "../../src/audit/read/columns/parse-map.ts";
import type { AuditRecord } from "../../src/audit/read/records/record.ts";
import { readItems, type Reading, recordsOf } from "../../src/audit/read/read-items.ts";

/** Opens an input with these bytes, in chunks of `size`. */
export async function inputOf(content: string | Uint8Array, size = 65_536): Promise<Input> {
  const bytes = Buffer.from(content);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  return await openInput({ name: "items", stream: chunks() });
}

export interface ReadRecords {
  input: Input;
  records: AuditRecord[];
  /** `line: reason` */
  skips: string[];
}

export async function readRecords(
  content: string | Uint8Array,
  size?: number,
): Promise<ReadRecords> {
  const input = await inputOf(content, size);
  const records: AuditRecord[] = [];
  const skips: string[] = [];
  for await (const batch of recordsOf(input, (line, reason) => skips.push(`${line}: ${reason}`)))
    records.push(...batch);
  return { input, records, skips };
}

export interface ReadAll {
  input: Input;
  columns: Columns;
  order: Reading["order"];
  items: Item[];
  skips: string[];
}

export async function readAll(
  content: string | Uint8Array,
  { map = {}, size }: { map?: ColumnMap; size?: number } = {},
): Promise<ReadAll> {
  const input = await inputOf(content, size);
  const skips: string[] = [];
  const {
    columns,
    order,
    items: batches,
  } = await readItems(input, {
    index: 0,
    map,
    skip: ({ line, reason }) => skips.push(`${line}: ${reason}`),
  });
  const items: Item[] = [];
  for await (const batch of batches) items.push(...batch);
  return { input, columns, order, items, skips };
}

/** Returns a uuid that ends in a number. */
export const uuid = (number: number, first = "9"): string =>
  `${first}b1c2d3e-0000-4000-8000-${String(number).padStart(12, "0")}`;
