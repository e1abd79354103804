import { ascii, textOf, type Bytes } from "./bytes.ts";
import { isUuid } from "../../protocol/limits.ts";
import { alike, isWrapper, itemIn, parse, unlike, type Fields, type Looked } from "./fields.ts";
import { looksLikeAction, looksLikeAddress } from "../columns/looks.ts";
import { parseTime } from "../columns/times.ts";
import { count } from "../../terminal/count.ts";
import { anyUuid } from "./item.ts";
import { Cutter, JsonCutter, LineCutter, type Sink } from "./json.ts";

/** The delimiter of the cells, and the number of the line with the header, from 1. */
interface TableForm {
  delimiter: string;
  headerLine: number;
}

const maxCells = 5000;

/** Number of quotes that were not closed in their row after which none extends over a line. */
const mostStrays = 100;

/**
 * Cuts CSV and TSV. Columns are those of the header or, without one, `column1`, `column2`, …. Cells
 * defused for a spreadsheet (`'=…`) get their text back. A row with fewer cells lacks the last
 * ones, as Excel writes it; one with more is skipped. An open quote costs only its line.
 */
class RowCutter extends Cutter {
  readonly format: "csv" | "tsv";
  readonly #delimiter: number;
  readonly #headerLine: number;
  #header: readonly string[] = [];
  #strays = 0;
  // The row at hand.
  /** Where each cell begins and ends, without its quotes. */
  readonly #cells = new Int32Array(2 * maxCells);
  #count = 0;
  #lines = 1;
  /** Whether its last quote is not closed. */
  #isOpen = false;
  /** Whether it ends with the end of a line. */
  #isWhole = false;

  constructor(sink: Sink, lineEnd: number, { delimiter, headerLine }: TableForm) {
    super(sink, lineEnd);
    this.#delimiter = delimiter.charCodeAt(0);
    this.#headerLine = headerLine;
    this.format = delimiter === "\t" ? "tsv" : "csv";
  }

  override fieldsOf(bytes: Buffer, offset: number): Fields {
    this.#split(bytes, 0, bytes.length);
    return lookedAt(this.#fields(bytes, this.namesAt(offset) ?? [])).fields;
  }

  override decode(text: string): string {
    return text.replaceAll('""', '"');
  }

  protected takeOne(given: Bytes, from: number, to: number, isEnd: boolean): number {
    const end = this.#split(given.bytes, from, to);
    return this.#isWhole || isEnd ? this.#takeRow(given, from, end, isEnd) : -1;
  }

  protected override takeLong(given: Bytes, from: number, to: number): number {
    return this.#isOpen ? this.#takeRow(given, from, to, false) : super.takeLong(given, from, to);
  }

  /** Takes the split row. Returns the offset after it, or after its first line if it is none. */
  #takeRow(given: Bytes, from: number, end: number, isEnd: boolean): number {
    const { bytes } = given;
    const { sink, next: line } = this;
    const width = this.#header.length || this.#count;
    const isStray = this.#lines > 1 && this.#count !== width && this.#strays < mostStrays;
    if (this.#isOpen || isStray) return this.#takeStray(given, from, end);
    // Empty cells behind those of the header, as after a trailing delimiter.
    while (this.#count > width && this.#cell(bytes, this.#count - 1) === "") this.#count -= 1;
    const columns = this.#count;
    this.next += this.#lines;
    const to = this.#isWhole ? end - 1 : end;
    if (line < this.#headerLine) {
      const title = textOf(bytes, from, to);
      if (anyUuid.test(title)) sink.skip?.(line, "above the header", title);
      return end;
    }
    if (columns === 1 && isRule.test(this.#cell(bytes, 0))) return end;
    if (this.#header.length === 0 && this.#takeHeader(given, from)) return end;
    const header = this.#header;
    const isPlain = columns === width && sink.reader?.readRow(given, this.#cells, header);
    const entry = isPlain ? sink.reader?.entry(given, line, from, to) : null;
    if (entry) {
      sink.add?.(entry);
      return end;
    }
    // A header with these columns, perhaps in another order, with more or with fewer.
    const values = this.#texts(bytes);
    const [some, all] = columns < width ? [values, header] : [header, values];
    const known = new Set(all);
    const isHeader = columns * 2 > width && some.every((name) => known.has(name));
    if (isHeader && this.#takeHeader(given, from)) return end;
    const isCut = columns < width && isEnd && !this.#isWhole;
    const cells = count(columns, "cell");
    const doubt = columns === width ? undefined : `${cells} where the header has ${width}`;
    if (isCut || columns > width || columns * 2 <= width) {
      const cell = this.#cell(bytes, 0);
      const isNote = columns === 1 && isRemark(cell) && !(isCut && /^["[]?\d[-./\d]*$/.test(cell));
      if (isNote) sink.passOver?.("lines of one cell");
      else sink.skip?.(line, doubt ?? "", textOf(bytes, from, to), isCut);
      return end;
    }
    const fields = this.#fields(bytes, header);
    if (![...fields].every(([name, value]) => name === value || isRule.test(value)))
      sink.record({ line, ...lookedAt(fields), given, from, to, doubt });
    return end;
  }

  /** Skips the line of a quote that is not closed. Returns the offset after it. */
  #takeStray(given: Bytes, from: number, to: number): number {
    const { sink, next: line } = this;
    const end = this.endOfLine(given, from, to);
    const text = textOf(given.bytes, from, end < 0 ? to : end);
    sink.skip?.(line, "a quote is not closed in its cell", text, end < 0);
    this.#strays += 1;
    this.next += 1;
    return end < 0 ? to : end;
  }

  /** Takes the row as header. Returns false for data: the first one makes columns without names. */
  #takeHeader(given: Bytes, from: number): boolean {
    const cells = this.#texts(given.bytes);
    const isData = cells.some(looksLikeData);
    if (isData && this.#header.length > 0) return false;
    const names = new Set<string>();
    for (const [index, cell] of cells.entries()) {
      const name = (!isData && cell) || `column${index + 1}`;
      names.add(names.has(name) ? `${name} (${index + 1})` : name);
    }
    this.#header = [...names];
    this.headers.push({ offset: given.offset + from, names: this.#header });
    return !isData;
  }

  #texts(bytes: Buffer): string[] {
    return Array.from({ length: this.#count }, (_, index) => this.#cell(bytes, index).trim());
  }

  #fields(bytes: Buffer, header: readonly string[]): Fields {
    const fields: Fields = new Map();
    for (const [index, name] of header.slice(0, this.#count).entries()) {
      const cell = this.#cell(bytes, index);
      if (cell !== "") fields.set(name, /^'[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell);
    }
    return fields;
  }

  #cell(bytes: Buffer, index: number): string {
    return this.decode(textOf(bytes, this.#cells[2 * index], this.#cells[2 * index + 1]));
  }

  /** Splits a row into cells. Returns the offset after it. */
  #split(bytes: Buffer, from: number, to: number): number {
    const delimiter = this.#delimiter;
    const lineEnd = this.lineEnd;
    this.#isOpen = false;
    this.#isWhole = false;
    this.#lines = 1;
    let at = from;
    for (let index = 0; ; index = Math.min(index + 1, maxCells - 1)) {
      this.#count = index + 1;
      while (bytes[at] === ascii.space && at < to) at += 1;
      if (bytes[at] === ascii.quote && at < to) {
        at = this.#splitQuoted(bytes, at + 1, to, index);
        if (this.#isOpen) return to;
      } else {
        const start = at;
        for (let byte = bytes[at]; byte !== delimiter && byte !== lineEnd; byte = bytes[++at])
          if (at >= to) break;
        at = Math.min(at, to);
        this.#cells[2 * index] = start;
        let end = at;
        while (end > start && isBlank(bytes[end - 1] as number)) end -= 1;
        this.#cells[2 * index + 1] = end;
      }
      if (at >= to) return to;
      at += 1;
      if (bytes[at - 1] === lineEnd) {
        this.#isWhole = true;
        return at;
      }
    }
  }

  /** Splits off a cell after its quote. Returns the offset of the delimiter or line end behind. */
  #splitQuoted(bytes: Buffer, from: number, to: number, index: number): number {
    const lineEnd = this.lineEnd;
    const lines = this.#lines;
    this.#cells[2 * index] = from;
    for (let at = from; at < to; at++) {
      const byte = bytes[at];
      if (byte === lineEnd) {
        if (this.#strays >= mostStrays) break;
        this.#lines += 1;
      }
      if (byte !== ascii.quote) continue;
      if (bytes[at + 1] === ascii.quote && at + 1 < to) {
        at += 1;
        continue;
      }
      let after = at + 1;
      while (after < to && isBlank(bytes[after] as number) && bytes[after] !== lineEnd) after += 1;
      const isEnd = after >= to || bytes[after] === this.#delimiter || bytes[after] === lineEnd;
      // Another quote is part of the text, or begins a cell of the next row.
      if (!isEnd && this.#lines > lines && this.#beginsCell(bytes, at)) break;
      if (!isEnd) continue;
      this.#cells[2 * index + 1] = at;
      return after;
    }
    this.#isOpen = true;
    return to;
  }

  #beginsCell(bytes: Buffer, quote: number): boolean {
    let at = quote - 1;
    while (bytes[at] === ascii.space) at -= 1;
    return bytes[at] === this.#delimiter || bytes[at] === this.lineEnd;
  }
}

/** Rows are all alike, and only those with a brace have an item in a text. */
const lookedAt = (fields: Fields): Looked =>
  [...fields.values()].some((value) => value.includes("{"))
    ? { ...itemIn(fields), likeness: alike }
    : { fields, likeness: alike, isText: false };

/** What is drawn between the header and the rows, or nothing. */
const isRule = /^[-=+:| ]*$/;

/** What lines of items have: a part of a uuid, or of a time. */
const datum = /[0-9a-f]{4}-|\d:\d/i;

/** Whether a line names nothing, like `(8 rows)`. */
const isRemark = (text: string): boolean => text.length < 80 && !datum.test(text);

const isBlank = (byte: number): boolean => byte === ascii.space || byte === ascii.carriageReturn;

const looksLikeData = (cell: string): boolean =>
  isUuid(cell) || looksLikeAddress(cell) || looksLikeAction(cell) || parseTime(cell) !== null;

/** Number of lines by which a table is recognized. */
const sampleLines = 50;

/**
 * Recognizes a table by its first lines, or returns null: one column is none. The header is the
 * first line with as many cells as most lines, all of them filled, or most; above it are titles.
 */
function recognizeTable(lines: readonly string[]): TableForm | null {
  const named = /^sep=(.)\s*$/.exec(lines[0] ?? "")?.[1];
  // What is in quotes holds no delimiters.
  const unquoted = lines
    .slice(0, sampleLines)
    .map((line) => line.replaceAll(/"[^"]*"/g, (quoted) => "x".repeat(quoted.length)));
  let best: (TableForm & { score: number }) | null = null;
  for (const delimiter of named === undefined ? ["\t", ",", ";", "|"] : [named]) {
    const rows = unquoted.map((line) => line.split(delimiter));
    const widths = rows.map(({ length }) => length).filter((width) => width > 1);
    const countOf = (width: number): number => widths.filter((other) => other === width).length;
    const [usual = 0] = widths.toSorted((a, b) => countOf(b) - countOf(a));
    const filledIn = (cells: string[]): number => cells.filter((cell) => cell.trim() !== "").length;
    const first = rows.findIndex((cells) => cells.length >= usual && filledIn(cells) * 2 > usual);
    // Titles may be filled up to the width, too.
    const isData = (line = ""): boolean =>
      datum.test(line) || line.replaceAll('"', "").split(delimiter).some(looksLikeData);
    const full = rows.findIndex((cells, at) => filledIn(cells) >= usual && !isData(lines[at]));
    const header = Math.max(first, full);
    // Two columns hold no item: each line may have one comma, as in a time, and tabs for its cells.
    const score = countOf(usual) * Math.min(usual, 4) * 1000 + usual;
    if (header >= 0 && score > (best?.score ?? 0))
      best = { delimiter, headerLine: header + 1, score };
  }
  return best;
}

/** Returns what makes cutters for an input's form, known by its head; all of it if `isWhole`. */
export function formOf(head: Buffer, isWhole: boolean): (sink: Sink) => Cutter {
  const text = textOf(head).replaceAll("\0", "");
  // Cells may have other lines in them.
  const lineEnd = /^[^\r\n]*\r(?!\r*\n)/.test(text) ? ascii.carriageReturn : ascii.newline;
  const all = text.split(String.fromCharCode(lineEnd));
  const isFirstWhole = isWhole || all.length > 1;
  // The last line may be incomplete.
  if (!isWhole && isFirstWhole) all.pop();
  const filled = all.map((line) => line.trim()).filter((line) => line !== "");
  const [first = ""] = filled;
  const isObject = first.startsWith("{");
  if (isObject ? !isByLine(filled, isFirstWhole) : /^\[\s*(?:[[{\]"]|$)/.test(first))
    return (sink) => new JsonCutter(sink);
  const table = isObject || filled.some(endsWithItem) ? null : recognizeTable(all);
  return (sink) =>
    table === null ? new LineCutter(sink, lineEnd) : new RowCutter(sink, lineEnd, table);
}

/** Whether lines beginning with an object are each a record, or broken: not pages or parts. */
function isByLine(lines: readonly string[], isFirstWhole: boolean): boolean {
  const [first = ""] = lines;
  const parsed = parse(first);
  if (parsed.reason === undefined) return !isWrapper(parsed, false);
  if (!isFirstWhole) return !/"\s*:\s*\[\s*[[{]/.test(first);
  const whole = lines.filter((line) => line.startsWith("{") && line.endsWith("}"));
  return lines.length > 1 && whole.length * 2 > lines.length;
}

function endsWithItem(line: string): boolean {
  const at = line.indexOf("{");
  return at >= 0 && line.endsWith("}") && parse(line.slice(at)).likeness > unlike;
}
