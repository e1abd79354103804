import { textOf, type Bytes } from "./bytes.ts";
import { uuidLength } from "../fold/vault-table.ts";
import { type Fields, parse } from "./fields.ts";
import type { Entry } from "./item.ts";
import type { ItemReader } from "./reader.ts";

/** What becomes of the records of an input. */
export interface Sink {
  /** Offset of the bytes at hand in the input. */
  readonly offset: number;
  /** Reads the entries of plain records, as soon as the columns are known. */
  readonly reader: ItemReader | undefined;
  /** Takes the entry of a plain record. */
  add(entry: Entry, list?: List): void;
  /** Takes a record that was parsed whole. */
  record(record: RawRecord): void;
  /** Is called for what is no record. The reason is safe on a terminal. `text`: what could not be read, which may name vaults. */
  skip(line: number, reason: string, text: string): void;
  /** Is called for more of what could not be read. */
  unread(text: string): void;
  /** The input is cut off at a line, or cannot be read any further: what comes after is missing. */
  cut(line: number): void;
  /** Is called for values in a list of that name that are no items. */
  passOver(list: string, count: number): void;
}

/** A list of records. */
export interface List {
  readonly name: string;
  /** It has an item, or one that looks like it. */
  isOfItems?: boolean;
}

/** A record whose columns have no meaning yet, with its bytes. */
export interface RawRecord {
  line: number;
  fields: Fields;
  /** The list that it is in, of several: only those that have an item are lists of items. */
  list?: List | undefined;
  /** What makes it no item if it does not hold the vault that it names. */
  doubt?: string | undefined;
  given: Bytes;
  from: number;
  to: number;
}

/** Maximum size of a record in bytes. A longer one is skipped, and never held in memory. */
export const longestRecord = 1024 * 1024;

/** Cuts the bytes of an input into records. */
export abstract class Cutter {
  abstract readonly format: "ndjson" | "json" | "csv" | "tsv";
  /** Number of the line or element that comes next, from 1. */
  next = 1;
  /** Whether the rest of a line, or of the input, is passed over. */
  protected isPassing = false;
  protected readonly sink: Sink;
  /** The byte that ends a line; undefined where lines mean nothing. */
  readonly lineEnd: number | undefined;

  constructor(sink: Sink, lineEnd?: number) {
    this.sink = sink;
    this.lineEnd = lineEnd;
  }

  /** Returns the columns of a record that was taken, from its bytes. */
  fieldsOf(bytes: Buffer): Fields {
    return parse(textOf(bytes)).fields;
  }

  /** Makes a text of what stands for it in the input. */
  decode(text: string): string {
    return text.includes("\\") ? (JSON.parse(`"${text}"`) as string) : text;
  }

  /** Takes what begins at an offset. Returns the offset after it, or -1 if it is not whole; at the end of the input all is. */
  protected abstract takeOne(given: Bytes, from: number, to: number, isEnd: boolean): number;

  /** Takes the whole records between two offsets. Returns the offset where the first one begins that is not whole. */
  take(given: Bytes, from: number, to: number, isEnd: boolean): number {
    let at = from;
    while (at < to) {
      if (this.isPassing) {
        const end = this.endOfLine(given, at, to);
        this.sink.unread(textOf(given.bytes, at, end < 0 ? to : end));
        // What the text names may go on behind it.
        if (end < 0) return isEnd ? to : Math.max(at, to - uuidLength + 1);
        this.isPassing = false;
        this.next += 1;
        at = end;
        continue;
      }
      const limit = Math.min(to, at + longestRecord);
      const end = this.takeOne(given, at, limit, isEnd && limit === to);
      if (end < 0 && limit - at < longestRecord) return at;
      at = end < 0 ? this.takeLong(given, at, limit) : end;
    }
    return at;
  }

  /** Skips a record that is too long. Returns where to read on. */
  protected takeLong(_given: Bytes, from: number, _to: number): number {
    this.sink.skip(this.next, tooLong, "");
    this.isPassing = true;
    return from;
  }

  /** Returns the offset after the end of the line, or -1. */
  protected endOfLine({ bytes }: Bytes, from: number, to: number): number {
    const end = this.lineEnd === undefined ? -1 : bytes.indexOf(this.lineEnd, from);
    return end < 0 || end >= to ? -1 : end + 1;
  }
}

/** Reason for skipping what is longer than a record may be. */
export const tooLong = "longer than 1 MiB";
