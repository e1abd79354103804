import { VaultError } from "../../errors.ts";
import type { Columns, Item } from "./item.ts";
import { readRoles, toItem } from "./columns/items.ts";
import { longestRecord } from "./records/lines.ts";
import { fieldsOf } from "./records/ndjson.ts";
import { offsetOf } from "./location.ts";
import type { PlainFile } from "./scan/plain-file.ts";

const newline = 0x0a;

/** Parses a line of NDJSON as an item, or returns why it is not one. */
export function itemOfLine(text: string, columns: Columns, input: number, line: number, hasEnded = true): Item | { reason: string } {
  const fields = fieldsOf(text, hasEnded);
  return typeof fields === "string" ? { reason: fields } : toItem(readRoles(fields, columns), input, line);
}

/**
 * Reads the item at a location of an NDJSON file again.
 *
 * @throws `invalid-input` if the file has changed and the line is no longer an item.
 */
export function findLine(file: PlainFile, columns: Columns, input: number, location: number, line: number): Item {
  for (let size = 4096; ; size *= 2) {
    const bytes = Buffer.allocUnsafe(size);
    const length = file.readInto(bytes, offsetOf(location));
    const end = bytes.subarray(0, length).indexOf(newline);
    if (end < 0 && length === size && length <= longestRecord) continue;
    const item = itemOfLine(bytes.toString("utf8", 0, end < 0 ? length : end), columns, input, line);
    if (!("reason" in item)) return item;
    throw new VaultError("invalid-input", `${file.path} has changed while it was read`, { hint: "run it again" });
  }
}
