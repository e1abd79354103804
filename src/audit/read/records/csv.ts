import type { Options } from "csv-parse/sync";
import { CsvError, parse } from "csv-parse/sync";
import type { Line } from "./lines.ts";
import { Lines, longestRecord, ownText, textLinesOf } from "./lines.ts";
import { looksLikeAction, looksLikeAddress, looksLikeUuid } from "../../columns/values.ts";
import type { AuditRecord, SkipLine } from "./record.ts";
import { parseTime } from "../../columns/times.ts";

interface Row {
  line: number;
  cells: string[];
}

/** Characters, and lines, parsed at a time. */
const blockLength = 128 * 1024;
const blockLines = 20_000;

/** Maximum number of lines skipped for a broken quote; after that, the input is parsed as it is. */
const maxRestarts = 100;

/**
 * Reads the rows below the header. If there is no header, the columns are `column1`, `column2`, …. Cells that were defused for a
 * spreadsheet (`'=…`) get their text back. Rows with fewer cells than the header, or with more that are not empty, are skipped.
 *
 * It parses blocks of whole lines: memory is bounded whatever the quotes are, and an unclosed quote costs its own line, not the rest of
 * the file.
 */
export async function* csvRecords(
  chunks: AsyncIterable<Uint8Array>,
  delimiter: string,
  skip: SkipLine,
): AsyncGenerator<AuditRecord[]> {
  let header: string[] | undefined;
  const budget = { restarts: maxRestarts };
  for await (const block of blocksOf(chunks, skip)) {
    const rows = rowsOf(block, { delimiter, width: header?.length, budget, skip });
    const first = rows[0];
    if (header === undefined && first !== undefined) {
      const isData = first.cells.some(looksLikeData);
      header = headerOf(isData ? [] : first.cells, first.cells.length);
      if (!isData) rows.shift();
    }
    const last = block.at(-1);
    const cutAt = last?.ended === false ? last.number : undefined;
    const records: AuditRecord[] = [];
    for (const { line, cells } of rows) {
      const fields = fieldsOf(header ?? [], cells);
      if (fields === null)
        skip(
          line,
          `${cells.length} cells where the header has ${header?.length}`,
          line === cutAt,
          cells.join(" "),
        );
      else records.push({ line, fields });
    }
    yield records;
  }
}

/** Groups lines into blocks that end where no quote seems open, or at the maximum length of a record. */
async function* blocksOf(
  chunks: AsyncIterable<Uint8Array>,
  skip: SkipLine,
): AsyncGenerator<Line[]> {
  const lines = new Lines(chunks, skip);
  let block: Line[] = [];
  let length = 0;
  let isQuoting = false;
  for await (const whole of lines.blocks()) {
    for (const line of textLinesOf(whole, lines)) {
      // The delimiter as Excel writes it, already read by `sniff`.
      if (line.number === 1 && /^sep=.$/.test(line.text)) continue;
      block.push(line);
      length += line.text.length;
      if (hasOddQuotes(line.text)) isQuoting = !isQuoting;
      if (length < (isQuoting ? longestRecord : blockLength) && block.length < blockLines) continue;
      yield block;
      [block, length, isQuoting] = [[], 0, false];
    }
  }
  if (block.length > 0) yield block;
}

interface RowOptions {
  delimiter: string;
  width: number | undefined;
  budget: { restarts: number };
  skip: SkipLine;
}

/** Parses the rows of a block. If `width` is known, a row of several lines with another number of cells has a stray quote. */
function rowsOf(block: readonly Line[], { delimiter, width, budget, skip }: RowOptions): Row[] {
  const rows: Row[] = [];
  let expected = width;
  let at = 0;
  const skipLine = (reason: string): void => {
    skip(block[at]?.number ?? 0, reason, block[at]?.ended === false, block[at]?.text);
    at += 1;
    budget.restarts -= 1;
  };
  // Without quotes, splitting gives the same result much faster.
  if (!block.some(({ text }) => text.includes('"'))) {
    return block
      .filter(isFilled)
      .map(({ number, text }) => ({ line: number, cells: ownText(text).split(delimiter) }));
  }
  while (at < block.length) {
    const { found, isWhole } = parseRows(block.slice(at), delimiter);
    let isRestarted = false;
    for (const cells of found) {
      const lines = cells.reduce((sum, cell) => sum + newlinesIn(cell), 1);
      if (lines > 1 && expected !== undefined && cells.length !== expected && budget.restarts > 0) {
        skipLine("a quote that is not closed in its cell");
        isRestarted = true;
        break;
      }
      if (cells.length > 1 || isFilled({ text: cells[0] ?? "" })) {
        rows.push({ line: block[at]?.number ?? 0, cells });
        expected ??= cells.length;
      }
      at += lines;
    }
    if (isRestarted) continue;
    if (isWhole) break;
    skipLine("a quote is opened and not closed");
  }
  return rows;
}

/** Parses lines. `isWhole` is false if a quote is still open at the end; then only the rows before it are found. */
function parseRows(
  lines: readonly Line[],
  delimiter: string,
): { found: string[][]; isWhole: boolean } {
  const text = lines.map((line) => `${line.text}\n`).join("");
  const options: Options = {
    delimiter,
    record_delimiter: "\n",
    relax_column_count: true,
    relax_quotes: true,
  };
  try {
    return { found: parse(text, options), isWhole: true };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const found: string[][] = [];
    const keep = (row: string[]): null => {
      found.push(row);
      return null;
    };
    try {
      parse(text, { ...options, on_record: keep });
    } catch {
      // The same error as above.
    }
    return { found, isWhole: false };
  }
}

const looksLikeData = (cell: string): boolean =>
  looksLikeUuid(cell) ||
  looksLikeAddress(cell) ||
  looksLikeAction(cell) ||
  parseTime(cell) !== null;

/** Returns unique column names, numbering empty and repeated ones. */
function headerOf(names: readonly string[], width: number): string[] {
  const header = new Set<string>();
  for (let index = 0; index < width; index += 1) {
    const name = names[index]?.trim() || `column${index + 1}`;
    header.add(header.has(name) ? `${name} (${index + 1})` : name);
  }
  return [...header];
}

/** Returns null for a row that does not fit the header. Extra empty cells, as after a trailing delimiter, are ignored. */
function fieldsOf(header: readonly string[], cells: readonly string[]): Map<string, string> | null {
  if (cells.length < header.length || cells.slice(header.length).some((cell) => cell !== ""))
    return null;
  const fields = new Map<string, string>();
  for (const [index, name] of header.entries()) {
    const cell = cells[index] ?? "";
    if (cell !== "") fields.set(name, /^'[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell);
  }
  return fields;
}

const isFilled = ({ text }: { text: string }): boolean => text.trim() !== "";

function hasOddQuotes(text: string): boolean {
  let isOdd = false;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) isOdd = !isOdd;
  return isOdd;
}

function newlinesIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}
