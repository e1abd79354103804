import { VaultError } from "../../errors.ts";
import { contentHashOf } from "./hash.ts";
import { recognizeColumns } from "./columns/columns.ts";
import { itemOf } from "./columns/items.ts";
import type { ColumnMap } from "./columns/parse-map.ts";
import { parseTime } from "./columns/times.ts";
import type { Columns, Item, Skip } from "./item.ts";
import type { Input } from "./records/input.ts";
import { ndjsonRecords } from "./records/ndjson.ts";
import type { AuditRecord, SkipLine } from "./records/record.ts";

/** Number of records by which columns are recognized. */
const sampleSize = 1000;
/** Number of lines, none of them a record, after which the input is given up. */
const maxSkips = 100_000;
/** Maximum characters of all values in the sample: a single record may be a megabyte. */
const sampleLength = 8 * 1024 * 1024;

export interface Reading {
  columns: Columns;
  order: "oldest-first" | "newest-first";
  /** All items in the order of the input, once. `skip` is called only while this is read: a caller may read the file by other means. */
  items: AsyncIterable<Item[]>;
}

interface ReadingOptions {
  /** Index of the input, from 0. */
  index: number;
  map?: ColumnMap;
  skip: (skip: Skip) => void;
}

/**
 * Reads the beginning of an input, which may be empty, and recognizes its columns.
 *
 * @throws what `recognizeColumns` throws, `invalid-input` if the input cannot be read or has no records.
 */
export async function readItems(
  input: Input,
  { index, map, skip }: ReadingOptions,
): Promise<Reading> {
  const early: Skip[] = [];
  let report = (one: Skip): void => void early.push(one);
  let lastLine = 0;
  const batches = recordsOf(input, (line, reason) => {
    lastLine = Math.max(lastLine, line);
    report({ input: index, line, reason });
  });
  const sample: AuditRecord[] = [];
  let length = 0;
  while (sample.length < sampleSize && length < sampleLength && early.length < maxSkips) {
    const next = await batches.next();
    if (next.done === true) break;
    sample.push(...next.value);
    for (const { fields } of next.value) for (const text of fields.values()) length += text.length;
  }
  if (sample.length === 0 && early.length >= maxSkips) {
    throw new VaultError(
      "invalid-input",
      `${input.name}: none of its first ${early.length} lines is an audit item`,
      {
        hint: `read as ${input.format}; line ${early[0]?.line}: ${early[0]?.reason}`,
      },
    );
  }
  const columns = recognizeColumns(sample.slice(0, sampleSize), map, input.name);
  const itemsOf = (records: readonly AuditRecord[]): Item[] => {
    const items: Item[] = [];
    for (const { line, fields, text } of records) {
      lastLine = line;
      const item = itemOf(fields, columns, index, line);
      if ("reason" in item) skip({ input: index, line, reason: item.reason });
      else
        items.push(
          item.id === null
            ? {
                ...item,
                contentHash: contentHashOf(Buffer.from(text ?? JSON.stringify([...fields]))),
              }
            : item,
        );
    }
    return items;
  };
  async function* all(): AsyncGenerator<Item[]> {
    report = skip;
    for (const one of early) skip(one);
    yield itemsOf(sample.splice(0));
    for await (const records of batches) yield itemsOf(records);
    const problem = input.problem();
    if (problem !== null)
      skip({ input: index, line: lastLine + 1, reason: `${problem}: reading stopped` });
  }
  return { columns, order: orderOf(sample, columns), items: all() };
}

/** Returns `newest-first` if more neighbors go back in time than forward. */
function orderOf(sample: readonly AuditRecord[], columns: Columns): Reading["order"] {
  const name = columns.time?.name ?? "";
  const times = sample
    .map(({ fields }) => parseTime(fields.get(name) ?? ""))
    .filter((time) => time !== null);
  const steps = times.slice(1).map((time, index) => Math.sign(time - (times[index] ?? time)));
  return steps.reduce((sum, step) => sum + step, 0) < 0 ? "newest-first" : "oldest-first";
}

/**
 * Reads all records of an input, once. Calls `skip` for what is not a record.
 *
 * @throws `invalid-input` if reading fails.
 */
export async function* recordsOf(input: Input, skip: SkipLine): AsyncGenerator<AuditRecord[]> {
  if (input.format === "ndjson") yield* ndjsonRecords(input.chunks, skip);
  // The others bring a parser each.
  else if (input.format === "json")
    yield* (await import("./records/json-array.ts")).jsonRecords(input.chunks, skip);
  else yield* (await import("./records/csv.ts")).csvRecords(input.chunks, input.delimiter, skip);
}
