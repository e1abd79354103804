import { parseTime } from "../../columns/times.ts";
import { parseObject } from "./record.ts";

/** Format of an input, recognized by its beginning. */
export interface Format {
  format: "ndjson" | "json" | "csv" | "tsv";
  /** Delimiter of CSV and TSV; empty for JSON. */
  delimiter: string;
}

const json: Format = { format: "json", delimiter: "" };
const ndjson: Format = { format: "ndjson", delimiter: "" };

/** Recognizes the format of an input by its beginning; `isWhole` if that is all of it. */
export function sniff(head: string, isWhole: boolean): Format {
  const text = head.trimStart();
  if (/^\[(?:\s*[{\]]|\s*\n|\s*$)/.test(text)) return json;
  const filled = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (text.startsWith("{")) return sniffObject(filled, isWhole || text.includes("\n"));
  if (text.startsWith("[") && parseObject(filled[0] ?? "").reason?.endsWith("an object") === true)
    return ndjson;
  // The last line may be incomplete.
  if (!isWhole && filled.length > 1) filled.pop();
  if (filled.filter((line) => line.endsWith("}") && line.includes("{")).length > filled.length / 2)
    return ndjson;
  return sniffTable(filled);
}

/** Distinguishes NDJSON from a wrapper around an array and from objects over several lines. */
function sniffObject(lines: readonly string[], isFirstWhole: boolean): Format {
  const [first = "", second] = lines;
  if (second !== undefined)
    return second.startsWith("{") || parseObject(first).value !== undefined ? ndjson : json;
  if (!isFirstWhole) return hasList.test(first) ? json : ndjson;
  const parsed = parseObject(first);
  if (parsed.value === undefined) return hasList.test(first) ? json : ndjson;
  return hasList.test(first) || isEmptyWrapper(parsed.value) ? json : ndjson;
}

/** Whether a value is a wrapper like `{"items":[]}`, and not an item with an empty list. */
export function isEmptyWrapper(value: object): boolean {
  const values = Object.values(value) as unknown[];
  const hasEmptyList = values.some((one) => Array.isArray(one) && one.length === 0);
  return hasEmptyList && !values.some((one) => typeof one === "string" && parseTime(one) !== null);
}

/** A key whose value is an array of objects. */
const hasList = /"\s*:\s*\[\s*\{/;

function sniffTable(lines: readonly string[]): Format {
  const named = /^sep=(.)$/.exec(lines[0] ?? "")?.[1];
  if (named !== undefined) return table(named);
  const [header = "", ...rest] = lines;
  let best: { delimiter: string; score: number } | undefined;
  for (const delimiter of ["\t", ",", ";", "|"]) {
    const cells = countOutsideQuotes(header, delimiter);
    const same = rest
      .slice(0, 20)
      .filter((line) => countOutsideQuotes(line, delimiter) === cells).length;
    const score = cells === 0 ? 0 : same * 1000 + cells;
    if (score > (best?.score ?? 0)) best = { delimiter, score };
  }
  // One column is not a table.
  return best === undefined ? ndjson : table(best.delimiter);
}

const table = (delimiter: string): Format => ({
  format: delimiter === "\t" ? "tsv" : "csv",
  delimiter,
});

function countOutsideQuotes(line: string, delimiter: string): number {
  const parts = line.split('"');
  // Every second part is between quotes.
  return parts.reduce(
    (sum, part, index) => (index % 2 === 0 ? sum + part.split(delimiter).length - 1 : sum),
    0,
  );
}
