import { carriageReturn, newline, textOf } from "./bytes.ts";
import { flattened, isWrapper, likenessOf, parseObject, unlike } from "./fields.ts";
import { JsonCutter, LineCutter } from "./json.ts";
import type { Cutter, Sink } from "./records.ts";
import { recognizeTable, RowCutter, withoutDoubled } from "./table.ts";

/** How an input is read, recognized by its beginning. */
export interface Form {
  format: "ndjson" | "json" | "csv" | "tsv";
  cutter(sink: Sink): Cutter;
  /** Makes a text of what stands for it in the input. */
  decode(text: string): string;
}

/** Recognizes the form of an input by its beginning; `isWhole` if that is all of it. */
export function recognizeForm(head: Buffer, isWhole: boolean): Form {
  const lineEnd =
    !head.includes(newline) && head.includes(carriageReturn) ? carriageReturn : newline;
  const text = textOf(head).replaceAll("\0", "");
  const all = text.split(lineEnd === newline ? "\n" : "\r");
  // The last line may be incomplete.
  if (!isWhole && all.length > 1) all.pop();
  const lines = all.map((line) => line.trim());
  const filled = lines.filter((line) => line !== "");
  const ndjson: Form = {
    format: "ndjson",
    cutter: (sink) => new LineCutter(sink, lineEnd),
    decode: unescaped,
  };
  const json: Form = { format: "json", cutter: (sink) => new JsonCutter(sink), decode: unescaped };
  const [first = ""] = filled;
  if (first.startsWith("{"))
    return isByLine(filled, isWhole || text.includes("\n")) ? ndjson : json;
  if (/^\[\s*(?:[[{\]"]|$)/.test(first)) return json;
  if (filled.some(endsWithItem)) return ndjson;
  const table = recognizeTable(all);
  if (table === null) return ndjson;
  const { delimiter } = table;
  return {
    format: delimiter === "\t" ? "tsv" : "csv",
    cutter: (sink) => new RowCutter(sink, { ...table, lineEnd }),
    decode: withoutDoubled,
  };
}

const unescaped = (text: string): string =>
  text.includes("\\") ? (JSON.parse(`"${text}"`) as string) : text;

/** Whether lines that begin with an object are each a record, or broken; not pages of items, or objects over several lines. */
function isByLine(lines: readonly string[], isFirstWhole: boolean): boolean {
  const [first = "", second] = lines;
  const { value } = parseObject(first);
  if (value !== undefined) {
    const fields = flattened(value);
    return !isWrapper(value, typeof fields === "string" ? unlike : likenessOf(fields), false);
  }
  if (!isFirstWhole) return !/"\s*:\s*\[\s*\{/.test(first);
  const whole = lines.filter((line) => line.startsWith("{") && line.endsWith("}"));
  return second !== undefined && whole.length * 2 > lines.length;
}

/** Whether a line ends with an object, behind something else, that looks like an item. */
function endsWithItem(line: string): boolean {
  const at = line.indexOf("{");
  const { value } = at < 0 || !line.endsWith("}") ? {} : parseObject(line.slice(at));
  const fields = value === undefined ? "" : flattened(value);
  return typeof fields !== "string" && likenessOf(fields) > unlike;
}
