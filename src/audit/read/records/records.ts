import { csvRecords } from "./csv.ts";
import type { Input } from "./input.ts";
import { jsonRecords } from "./json-array.ts";
import { ndjsonRecords } from "./ndjson.ts";
import type { AuditRecord, SkipLine } from "./record.ts";

/**
 * All records of an input, in its order, in batches; can be done once. What is no record is told to `skip`. Raises
 * `invalid-input` where the input cannot be read any further.
 */
export function recordsOf(input: Input, skip: SkipLine): AsyncGenerator<AuditRecord[]> {
  if (input.format === "json") return jsonRecords(input.chunks, skip);
  if (input.format === "ndjson") return ndjsonRecords(input.chunks, skip);
  return csvRecords(input.chunks, input.delimiter, skip);
}
