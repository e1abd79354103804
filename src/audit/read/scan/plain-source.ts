import type { Batch } from "../batch.ts";
import { contentHashOf } from "../hash.ts";
import { FastLines } from "./fast-lines.ts";
import { itemOfLine } from "../records/ndjson.ts";
import { BatchWriter } from "../batch-writer.ts";
import type { Columns, Skip } from "../item.ts";
import { longestRecord, tooLong } from "../records/lines.ts";
import { locationOf } from "../item.ts";
import type { PlainFile } from "./plain-file.ts";
import type { SourceOptions } from "../source.ts";

/** Bytes read at a time, which fit the CPU's cache. */
const windowBytes = 256 * 1024;

/** Size of a window for the longest line with its newline. */
const widestWindow = longestRecord + 1;

const newline = 0x0a;
const carriageReturn = 0x0d;
const backslash = 0x5c;

interface PlainOptions extends Pick<SourceOptions, "index" | "vaults" | "classifier"> {
  skip: (skip: Skip) => void;
}

/**
 * Reads an NDJSON file. The scanner reads lines of known shapes. Other lines, such as those with escapes, are parsed like any other
 * format, and their shapes are learned.
 */
export class PlainSource {
  readonly #file: PlainFile;
  readonly #input: number;
  readonly #columns: Columns;
  readonly #fast: FastLines;
  readonly #writer: BatchWriter;
  readonly #skip: (skip: Skip) => void;
  /** Size of the window, and number of bytes in it. */
  #reach = windowBytes;
  #length = 0;
  /** Offset of the window in the file. */
  #offset = 0;
  #line = 1;
  /** Whether the window is within a line that is too long. */
  #isTooLong = false;

  constructor(
    file: PlainFile,
    columns: Columns,
    { index, vaults, classifier, skip }: PlainOptions,
  ) {
    this.#file = file;
    this.#input = index;
    this.#columns = columns;
    this.#fast = new FastLines(columns, vaults, classifier);
    this.#writer = new BatchWriter(vaults, classifier);
    this.#skip = skip;
  }

  get bytesRead(): number {
    return this.#offset;
  }

  /** Adds the items of about one window to a batch. Returns false at the end of the file. */
  next(batch: Batch): boolean {
    this.#length = this.#readInto(this.#text.subarray(0, this.#reach));
    if (this.#length === 0) return false;
    this.#offset += this.#isTooLong ? this.#passOver() : this.#readLines(batch);
    return true;
  }

  /** Reads the lines in the window, as many as fit the batch. Returns the offset after them in the window. */
  #readLines(batch: Batch): number {
    const hasEnded = this.#length < this.#reach;
    let from = 0;
    while (from < this.#length && !batch.isFull) {
      const size = batch.size;
      const { at, hasKnownShape } = this.#fast.read(
        from,
        this.#length,
        batch,
        this.#locationAt(from),
        this.#line,
      );
      this.#line += batch.size - size;
      from = at;
      if (from === this.#length || batch.isFull) break;
      const newlineAt = this.#text.subarray(0, this.#length).indexOf(newline, from);
      if (newlineAt < 0 && !hasEnded) return from === 0 ? this.#readFurther() : this.#movedTo(from);
      const end = newlineAt < 0 ? this.#length : newlineAt;
      if (end > from) this.#readSlowly(from, end, newlineAt >= 0, batch, hasKnownShape);
      from = newlineAt < 0 ? end : end + 1;
      this.#line += 1;
    }
    return this.#movedTo(from);
  }

  #locationAt(from: number): number {
    return locationOf(this.#input, this.#offset + from);
  }

  #movedTo(from: number): number {
    this.#reach = windowBytes;
    return from;
  }

  #readSlowly(
    from: number,
    end: number,
    hasEnded: boolean,
    batch: Batch,
    hasKnownShape: boolean,
  ): void {
    const line = Buffer.from(this.#text.subarray(from, end));
    const text = line.toString("utf8");
    if (text.trim() === "") return;
    const item = itemOfLine(text, this.#columns, this.#input, this.#line, hasEnded);
    if ("reason" in item)
      return this.#skip({ input: this.#input, line: this.#line, reason: item.reason });
    const withoutEnd = line.at(-1) === carriageReturn ? line.subarray(0, -1) : line;
    this.#writer.add(batch, item, this.#locationAt(from), contentHashOf(withoutEnd));
    if (!hasKnownShape && !line.includes(backslash)) this.#fast.learn(line);
  }

  /** Enlarges a window without a complete line or, if the line is too long, skips the line. */
  #readFurther(): number {
    if (this.#reach < widestWindow) {
      this.#reach = Math.min(widestWindow, this.#reach * 2);
      return 0;
    }
    this.#skip({ input: this.#input, line: this.#line, reason: tooLong });
    this.#line += 1;
    this.#isTooLong = true;
    return this.#passOver();
  }

  /** Passes over the rest of a line that is too long, one window at a time: it may have no end. */
  #passOver(): number {
    const end = this.#text.subarray(0, this.#length).indexOf(newline);
    if (end < 0) return this.#length;
    this.#isTooLong = false;
    return this.#movedTo(end + 1);
  }

  /** Reads from the offset of the window on. */
  #readInto(room: Buffer): number {
    return this.#file.readInto(room, this.#offset);
  }

  get #text(): Buffer {
    return this.#fast.scanner.text;
  }
}
