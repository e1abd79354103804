import { openInput, type Input } from "../../src/audit/read/records/input.ts";
import type { Entry, Item } from "../../src/audit/read/item.ts";
import type { ColumnMap } from "../../src/audit/read/columns/parse-map.ts";
import type { AuditRecord } from "../../src/audit/read/records/record.ts";
import { Classifier } from "../../src/audit/read/columns/classify-item.ts";
import { SpareEntries } from "../../src/audit/read/entries.ts";
import { readEntries, type Reading, recordsOf } from "../../src/audit/read/read-entries.ts";
import { itemOfLine } from "../../src/audit/read/records/ndjson.ts";
import { VaultTable } from "../../src/audit/fold/vault-table.ts";
import type { Columns } from "../../src/documents/audit.ts";

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
  const { records: batches } = recordsOf(input, (line, reason) => skips.push(`${line}: ${reason}`));
  for await (const batch of batches) records.push(...batch);
  return { input, records, skips };
}

export const entryOptions = (map: ColumnMap = {}) => ({
  index: 0,
  map,
  vaults: new VaultTable(1_000_000),
  classifier: new Classifier(null),
  spare: new SpareEntries(),
});

/** Returns the item of an entry of a stream. */
export function itemOf({ content, input, line }: Entry, columns: Columns): Item {
  if (typeof content === "object") return content;
  const text = Buffer.from(String(content), "latin1").toString();
  const item = itemOfLine(text, columns, input, line, true);
  if ("reason" in item) throw new Error(item.reason);
  return item;
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
  const { columns, order, entries } = await readEntries(input, entryOptions(map), (line, reason) =>
    skips.push(`${line}: ${reason}`),
  );
  const items: Item[] = [];
  for await (const some of entries) items.push(...some.map((entry) => itemOf(entry, columns)));
  return { input, columns, order, items, skips };
}

/** Returns a uuid that ends in a number. */
export const uuid = (number: number, first = "9"): string =>
  `${first}b1c2d3e-0000-4000-8000-${String(number).padStart(12, "0")}`;
