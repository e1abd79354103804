import { VaultError } from "../../../errors.ts";
import { itemOf } from "../columns/items.ts";
import type { Columns, Item } from "../item.ts";
import { offsetOf } from "../item.ts";
import type { PlainFile } from "../scan/plain-file.ts";
import { flatten, parseObject } from "./flatten.ts";
import { linesOf, longestRecord } from "./lines.ts";
import type { AuditRecord, SkipLine } from "./record.ts";

/** Reads the lines of NDJSON as records. */
export async function* ndjsonRecords(
  chunks: AsyncIterable<Uint8Array>,
  skip: SkipLine,
): AsyncGenerator<AuditRecord[]> {
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
function fieldsOf(text: string, hasEnded = true): Map<string, string> | string {
  const parsed = parseObject(text);
  if (parsed.value === undefined)
    return parsed.reason === "not JSON" && !hasEnded
      ? "not JSON: the last line is cut off"
      : parsed.reason;
  try {
    return flatten(parsed.value);
  } catch (error) {
    if (error instanceof RangeError) return "nested too deeply";
    throw error;
  }
}

/** Parses a line of NDJSON as an item, or returns why it is not one. */
export function itemOfLine(
  text: string,
  columns: Columns,
  input: number,
  line: number,
  hasEnded = true,
): Item | { reason: string } {
  const fields = fieldsOf(text, hasEnded);
  return typeof fields === "string" ? { reason: fields } : itemOf(fields, columns, input, line);
}

const newline = 0x0a;

/**
 * Reads the item at a location of an NDJSON file again.
 *
 * @throws `invalid-input` if the file has changed and the line is no longer an item.
 */
export function findLine(
  file: PlainFile,
  columns: Columns,
  input: number,
  location: number,
  line: number,
): Item {
  for (let size = 4096; ; size *= 2) {
    const bytes = Buffer.allocUnsafe(size);
    const length = file.readInto(bytes, offsetOf(location));
    const end = bytes.subarray(0, length).indexOf(newline);
    if (end < 0 && length === size && length <= longestRecord) continue;
    const item = itemOfLine(
      bytes.toString("utf8", 0, end < 0 ? length : end),
      columns,
      input,
      line,
    );
    if (!("reason" in item)) return item;
    throw new VaultError("invalid-input", `${file.path} changed while it was read`, {
      hint: "run it again",
    });
  }
}
