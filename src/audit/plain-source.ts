import { closeSync, openSync, readSync } from "node:fs";
import { VaultError } from "../errors.ts";
import type { Batch } from "./batch.ts";
import { wholeHashOf } from "./bytes.ts";
import { lookahead } from "./fast-lines.ts";
import type { FastLines } from "./fast-lines.ts";
import type { ItemFiler } from "./item-source.ts";
import { readRoles, toItem } from "./items.ts";
import type { Columns, Item, Skip } from "./item.ts";
import { longestRecord, tooLong } from "./lines.ts";
import { fieldsOf } from "./ndjson.ts";
import { placeIn, withinInput } from "./places.ts";

/** Bytes that are looked at together: what the nearer caches hold. A line may be longer. */
const windowBytes = 256 * 1024;

const newline = 0x0a;
const backslash = 0x5c;

/**
 * NDJSON in a file, from its bytes. Lines of a known shape are read without looking at them twice; the others, those with
 * escapes among them, go the way of every other format, and are what shapes are learned from.
 */
export class PlainSource {
  readonly #fd: number;
  readonly #path: string;
  readonly #input: number;
  readonly #columns: Columns;
  readonly #fast: FastLines;
  readonly #filer: ItemFiler;
  readonly #skip: (skip: Skip) => void;
  #bytes: Buffer;
  #view: DataView;
  /** What is in the window and was not read yet. */
  #from = 0;
  #to = 0;
  /** Of the window's first byte in the file. */
  #offset = 0;
  #line = 1;
  #ended = false;

  /** Raises `invalid-input` where the file cannot be opened. */
  constructor(path: string, input: number, columns: Columns, fast: FastLines, filer: ItemFiler, skip: (skip: Skip) => void) {
    this.#path = path;
    this.#input = input;
    this.#columns = columns;
    this.#fast = fast;
    this.#filer = filer;
    this.#skip = skip;
    this.#fd = this.#reading(() => openSync(path, "r"));
    this.#bytes = Buffer.allocUnsafeSlow(windowBytes + lookahead);
    this.#view = viewOf(this.#bytes);
  }

  get bytesRead(): number {
    return this.#offset + this.#from;
  }

  /** False at the end of the file. Reads about one window: who waits in between can be interrupted. */
  next(batch: Batch): boolean {
    while (batch.size === 0) {
      if (!this.#readWindow()) return false;
      this.#readLines(batch);
    }
    return true;
  }

  /** The item of a line by its place. */
  find(place: number, line: number): Item {
    let bytes = Buffer.allocUnsafe(4096);
    const at = withinInput(place);
    let length = 0;
    for (;;) {
      const read = this.#reading(() => readSync(this.#fd, bytes, length, bytes.length - length, at + length));
      length += read;
      const end = bytes.subarray(0, length).indexOf(newline);
      if (end < 0 && read > 0 && length <= longestRecord) {
        if (length === bytes.length) bytes = Buffer.concat([bytes, Buffer.allocUnsafe(bytes.length)]);
        continue;
      }
      const item = this.#itemOf(bytes.toString("utf8", 0, end < 0 ? length : end), line);
      if (!("reason" in item)) return item;
      throw new VaultError("invalid-input", `${this.#path} has changed while it was read`, { hint: "run it again" });
    }
  }

  close(): void {
    closeSync(this.#fd);
  }

  #reading<T>(read: () => T): T {
    try {
      return read();
    } catch (cause) {
      throw new VaultError("invalid-input", `cannot read ${this.#path}: ${(cause as NodeJS.ErrnoException).code ?? "unreadable"}`, {
        cause,
      });
    }
  }

  /** Lines that are in the window are left for the next batch, where this one is full. */
  #readLines(batch: Batch): void {
    const bytes = this.#bytes;
    // Bytes before the first escape are what they look like.
    let escape = this.#escapeFrom(this.#from);
    while (!batch.isFull) {
      const from = this.#from;
      const next = this.#fast.read(
        this.#view,
        bytes,
        from,
        Math.min(escape, this.#to),
        batch,
        placeIn(this.#input, this.#offset + from),
        this.#line,
      );
      if (next >= 0) {
        this.#from = next;
        this.#line += 1;
        continue;
      }
      const newlineAt = bytes.subarray(0, this.#to).indexOf(newline, from);
      if (newlineAt < 0 && !this.#ended) return;
      const end = newlineAt < 0 ? this.#to : newlineAt;
      if (end > from) this.#readSlowly(from, end, newlineAt >= 0, batch, escape >= end);
      this.#from = end + 1;
      this.#line += 1;
      if (newlineAt < 0) return this.#finish();
      if (escape < this.#from) escape = this.#escapeFrom(this.#from);
    }
  }

  #finish(): void {
    this.#from = this.#to;
  }

  #escapeFrom(from: number): number {
    const at = this.#bytes.subarray(0, this.#to).indexOf(backslash, from);
    return at < 0 ? this.#to : at;
  }

  #readSlowly(from: number, end: number, hasEnded: boolean, batch: Batch, isPlain: boolean): void {
    const text = this.#bytes.toString("utf8", from, end);
    if (text.trim() === "") return;
    const item = this.#itemOf(text, this.#line);
    if ("reason" in item) {
      const reason = item.reason === "not JSON" && !hasEnded ? "not JSON: the last line is cut off" : item.reason;
      return this.#skip({ input: this.#input, line: this.#line, reason });
    }
    this.#filer.fileFound(batch, item, placeIn(this.#input, this.#offset + from), wholeHashOf(this.#view, from, hasEnded ? end + 1 : end));
    if (isPlain && !this.#fast.hasKnownShape) this.#fast.learn(this.#bytes.subarray(from, end));
  }

  #itemOf(text: string, line: number): Item | { reason: string } {
    const fields = fieldsOf(text);
    return typeof fields === "string" ? { reason: fields } : toItem(readRoles(fields, this.#columns), this.#input, line);
  }

  /** Moves on in the file where there is no whole line left; false at its end. */
  #readWindow(): boolean {
    if (this.#from > 0) {
      const rest = this.#bytes.subarray(0, this.#to).indexOf(newline, this.#from);
      if (rest >= 0) return true;
    }
    this.#bytes.copyWithin(0, this.#from, this.#to);
    this.#offset += this.#from;
    this.#to -= this.#from;
    this.#from = 0;
    if (this.#ended && this.#to === 0) return false;
    if (this.#to > longestRecord) this.#skipLine();
    else if (this.#to > this.#bytes.length / 2) this.#widen();
    const room = this.#bytes.length - lookahead - this.#to;
    const read = this.#reading(() => readSync(this.#fd, this.#bytes, this.#to, room, this.#offset + this.#to));
    this.#to += read;
    this.#ended = read === 0;
    return true;
  }

  #widen(): void {
    const wider = Buffer.allocUnsafeSlow((this.#bytes.length - lookahead) * 2 + lookahead);
    this.#bytes.copy(wider, 0, 0, this.#to);
    this.#bytes = wider;
    this.#view = viewOf(wider);
  }

  /** Reads on to the end of a line that is too long to be one. */
  #skipLine(): void {
    this.#skip({ input: this.#input, line: this.#line, reason: tooLong });
    this.#offset += this.#to;
    this.#to = 0;
    for (;;) {
      const read = this.#reading(() => readSync(this.#fd, this.#bytes, 0, this.#bytes.length, this.#offset));
      const end = this.#bytes.subarray(0, read).indexOf(newline);
      this.#offset += end < 0 ? read : end + 1;
      if (end < 0 && read > 0) continue;
      this.#line += 1;
      return;
    }
  }
}

const viewOf = (bytes: Buffer): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
