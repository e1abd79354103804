import type { Bytes } from "./bytes.ts";
import type { Fields } from "./fields.ts";
import type { Entry } from "./item.ts";
import type { ItemReader } from "./reader.ts";

/** What becomes of the records of an input. */
export interface Sink {
  /** Offset of the bytes at hand in the input. */
  offset: number;
  /** Reads the entries of plain records, as soon as the columns are known. */
  reader: ItemReader | undefined;
  /** Takes the entry of a plain record. */
  add(entry: Entry, list?: object): void;
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

/** A record whose columns have no meaning yet, with its bytes. */
export interface RawRecord {
  line: number;
  fields: Fields;
  /** The list that it is in, of several: only those that have an item are lists of items. */
  list?: { readonly name: string } | undefined;
  /** What makes it no item if it does not hold the vault that it names. */
  doubt?: string | undefined;
  given: Bytes;
  from: number;
  to: number;
}

/** Cuts the bytes of an input into records. */
export interface Cutter {
  /** Number of the line or element that comes next, from 1. */
  next: number;
  /**
   * Takes the whole records between two offsets. Returns the offset where the first one begins that is not whole; at the end of the
   * input there is none.
   */
  take(given: Bytes, from: number, to: number, isEnd: boolean): number;
  /** Returns the columns of a record that was taken, from its bytes. */
  fieldsOf(bytes: Buffer): Fields | string;
}
