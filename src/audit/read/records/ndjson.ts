import { flatten, parseObject } from "./flatten.ts";
import { linesOf } from "./lines.ts";
import type { AuditRecord, SkipLine } from "./record.ts";

/** Reads the lines of NDJSON as records. */
export async function* ndjsonRecords(chunks: AsyncIterable<Uint8Array>, skip: SkipLine): AsyncGenerator<AuditRecord[]> {
  for await (const lines of linesOf(chunks, skip)) {
    const records: AuditRecord[] = [];
    for (const { number, text, ended } of lines) {
      if (text.trim() === "") continue;
      const fields = fieldsOf(text, ended);
      if (typeof fields !== "string") records.push({ line: number, fields, text });
      else skip(number, fields);
    }
    yield records;
  }
}

/** Returns the columns of a line, or why it is not a record. A line without a newline may be cut off. */
export function fieldsOf(text: string, hasEnded = true): Map<string, string> | string {
  const parsed = parseObject(text);
  if (parsed.value === undefined) return parsed.reason === "not JSON" && !hasEnded ? "not JSON: the last line is cut off" : parsed.reason;
  try {
    return flatten(parsed.value);
  } catch (error) {
    if (error instanceof RangeError) return "nested too deeply";
    throw error;
  }
}
