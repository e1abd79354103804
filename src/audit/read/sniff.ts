import { carriageReturn, newline, textOf } from "./bytes.ts";
import { isWrapper, parse, unlike } from "./fields.ts";
import { JsonCutter, LineCutter } from "./json.ts";
import type { Cutter, Sink } from "./records.ts";
import { recognizeTable, RowCutter } from "./table.ts";

/** Returns what cuts an input, whose form is recognized by its beginning; `isWhole` if that is all of it. */
export function cutterFor(sink: Sink, head: Buffer, isWhole: boolean): Cutter {
  const hasCr = !head.includes(newline) && head.includes(carriageReturn);
  const lineEnd = hasCr ? carriageReturn : newline;
  const all = textOf(head).replaceAll("\0", "").split(String.fromCharCode(lineEnd));
  const isFirstWhole = isWhole || all.length > 1;
  // The last line may be incomplete.
  if (!isWhole && isFirstWhole) all.pop();
  const filled = all.map((line) => line.trim()).filter((line) => line !== "");
  const [first = ""] = filled;
  const isObject = first.startsWith("{");
  if (isObject ? !isByLine(filled, isFirstWhole) : /^\[\s*(?:[[{\]"]|$)/.test(first))
    return new JsonCutter(sink);
  const table = isObject || filled.some(endsWithItem) ? null : recognizeTable(all);
  return table === null ? new LineCutter(sink, lineEnd) : new RowCutter(sink, lineEnd, table);
}

/** Whether lines that begin with an object are each a record, or broken; not pages of items, or objects over several lines. */
function isByLine(lines: readonly string[], isFirstWhole: boolean): boolean {
  const [first = ""] = lines;
  const parsed = parse(first);
  if (parsed.reason === undefined) return !isWrapper(parsed, false);
  if (!isFirstWhole) return !/"\s*:\s*\[\s*\{/.test(first);
  const whole = lines.filter((line) => line.startsWith("{") && line.endsWith("}"));
  return lines.length > 1 && whole.length * 2 > lines.length;
}

/** Whether a line ends with an object, behind something else, that looks like an item. */
function endsWithItem(line: string): boolean {
  const at = line.indexOf("{");
  return at >= 0 && line.endsWith("}") && parse(line.slice(at)).likeness > unlike;
}
