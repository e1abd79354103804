import { closeSync, openSync, readSync } from "node:fs";
import { VaultError } from "../errors.ts";
import type { Batch } from "./batch.ts";
import { wholeHashOf } from "./bytes.ts";
import type { FastLines } from "./fast-lines.ts";
import type { ItemFiler } from "./item-source.ts";
import { readRoles, toItem } from "./items.ts";
import type { Columns, Item, Skip } from "./item.ts";
import { longestRecord, tooLong } from "./lines.ts";
import { fieldsOf } from "./ndjson.ts";
import { placeIn, withinInput } from "./places.ts";

/** Bytes that are looked at together: what the nearer caches hold. */
const windowBytes = 256 * 1024;

/** A line and its end may take more. */
const widestWindow = longestRecord + 1;

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
  /** How far the window reaches, and what the file has of that. */
  #reach = windowBytes;
  #length = 0;
  /** Of the window's first byte in the file. */
  #offset = 0;
  #line = 1;

  /** Raises `invalid-input` where the file cannot be opened. */
  constructor(path: string, input: number, columns: Columns, fast: FastLines, filer: ItemFiler, skip: (skip: Skip) => void) {
    this.#path = path;
    this.#input = input;
    this.#columns = columns;
    this.#fast = fast;
    this.#filer = filer;
    this.#skip = skip;
    this.#fd = this.#reading(() => openSync(path, "r"));
  }

  get bytesRead(): number {
    return this.#offset;
  }

  /** False at the end of the file. Reads about one window: who waits in between can be interrupted. */
  next(batch: Batch): boolean {
    while (batch.size === 0) {
      this.#length = this.#readInto(this.#text.subarray(0, this.#reach));
      if (this.#length === 0) return false;
      const behind = this.#readLines(batch);
      this.#offset += behind;
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

  /** Reads the lines in the window, as many as the batch takes. Returns the place behind them. */
  #readLines(batch: Batch): number {
    const hasEnded = this.#length < this.#reach;
    let from = 0;
    while (from < this.#length && !batch.isFull) {
      const size = batch.size;
      const { at, hasKnownShape } = this.#fast.read(from, this.#length, batch, this.#placeOf(from), this.#line);
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

  #placeOf(from: number): number {
    return placeIn(this.#input, this.#offset + from);
  }

  #movedTo(from: number): number {
    this.#reach = windowBytes;
    return from;
  }

  #readSlowly(from: number, end: number, hasEnded: boolean, batch: Batch, hasKnownShape: boolean): void {
    const line = Buffer.from(this.#text.subarray(from, hasEnded ? end + 1 : end));
    const text = line.toString("utf8", 0, end - from);
    if (text.trim() === "") return;
    const item = this.#itemOf(text, this.#line);
    if ("reason" in item) {
      const reason = item.reason === "not JSON" && !hasEnded ? "not JSON: the last line is cut off" : item.reason;
      return this.#skip({ input: this.#input, line: this.#line, reason });
    }
    const view = new DataView(line.buffer, line.byteOffset, line.length);
    this.#filer.fileFound(batch, item, this.#placeOf(from), wholeHashOf(view, 0, line.length));
    if (!hasKnownShape && !line.includes(backslash)) this.#fast.learn(line.subarray(0, end - from));
  }

  #itemOf(text: string, line: number): Item | { reason: string } {
    const fields = fieldsOf(text);
    return typeof fields === "string" ? { reason: fields } : toItem(readRoles(fields, this.#columns), this.#input, line);
  }

  /** Where no line has ended in the window, it is to reach further; from the next line on, where this one is too long. */
  #readFurther(): number {
    if (this.#reach < widestWindow) {
      this.#reach = Math.min(widestWindow, this.#reach * 2);
      return 0;
    }
    this.#skip({ input: this.#input, line: this.#line, reason: tooLong });
    this.#line += 1;
    for (let read = this.#length; read > 0; read = this.#readInto(this.#text.subarray(0, this.#reach))) {
      const end = this.#text.subarray(0, read).indexOf(newline);
      if (end >= 0) return this.#movedTo(end + 1);
      this.#offset += read;
    }
    return this.#movedTo(0);
  }

  /** What the file has from the place on where the last line has ended; fewer bytes than there is room for at its end. */
  #readInto(room: Buffer): number {
    let length = 0;
    for (let read = 1; read > 0 && length < room.length; length += read) {
      read = this.#reading(() => readSync(this.#fd, room, length, room.length - length, this.#offset + length));
    }
    return length;
  }

  get #text(): Buffer {
    return this.#fast.scanner.text;
  }
}
