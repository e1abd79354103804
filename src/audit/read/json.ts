import { ascii, type Bytes, endOfValue, textOf, uuidLength } from "./bytes.ts";
import {
  alike,
  type Fields,
  isById,
  isEmptyWrapper,
  isHeader,
  isWrapper,
  type Looked,
  namesOf,
  parse,
  parseLoosely,
  similar,
  unlike,
} from "./fields.ts";
import { anyUuid, type Entry } from "./item.ts";
import type { ItemReader } from "./reader.ts";

/** What becomes of the records of an input. */
export interface Sink {
  /** Reads the entries of plain records, if the columns are known. */
  readonly reader?: ItemReader | undefined;
  /** Takes the entry of a plain record. */
  add?(entry: Entry, list?: string): void;
  record(record: RawRecord): void;
  /**
   * Is called for what is no record. The reason is safe on a terminal. `text`: what could not be
   * read, which may name vaults. `isCut`: what comes after is missing.
   */
  skip?(line: number, reason: string, text: string, isCut?: boolean): void;
  /** Is called for more of what could not be read. */
  unread?(text: string): void;
  /** Is called for a value in a list of that name that is no item. */
  passOver?(list: string): void;
}

/** A record whose columns have no meaning yet, with its bytes. */
export interface RawRecord extends Looked {
  line: number;
  /** Name of the list that it is in. */
  list?: string | undefined;
  /** What makes it no item if it does not hold the vault that it names. */
  doubt?: string | undefined;
  given: Bytes;
  from: number;
  to: number;
}

/** Maximum size of a record in bytes. A longer one is never held in memory. */
export const longestRecord = 1024 * 1024;
const tooLong = "longer than 1 MiB";

/** Cuts the bytes of an input into records. */
export abstract class Cutter {
  abstract readonly format: "ndjson" | "json" | "csv" | "tsv";
  /** Number of the line or element that comes next, from 1. */
  next = 1;
  /** Whether reading has stopped: the rest is passed over. */
  protected hasStopped = false;
  protected readonly sink: Sink;
  /** Names for the values of rows, each from an offset on: joined exports have several. */
  protected readonly headers: { offset: number; names: readonly string[] }[] = [];
  /** The byte that ends a line; undefined if lines mean nothing. */
  readonly lineEnd: number | undefined;

  constructor(sink: Sink, lineEnd?: number) {
    this.sink = sink;
    this.lineEnd = lineEnd;
  }

  /** Returns the columns of a record that was taken, from its bytes. */
  fieldsOf(bytes: Buffer, offset: number): Fields {
    return parse(textOf(bytes).replaceAll("\0", ""), 0, this.namesAt(offset)).fields;
  }

  protected namesAt(offset: number): readonly string[] | undefined {
    return this.headers.findLast((one) => one.offset <= offset)?.names;
  }

  /** Makes a text of what stands for it in the input. */
  decode(text: string): string {
    return text.includes("\\") ? (parseLoosely(`"${text}"`) as string) : text;
  }

  /** Takes what is at `from`. Returns the offset after it; -1 if incomplete, but not if `isEnd`. */
  protected abstract takeOne(given: Bytes, from: number, to: number, isEnd: boolean): number;

  /** Takes the whole records between two offsets. Returns where the first incomplete one begins. */
  take(given: Bytes, from: number, to: number, isEnd: boolean): number {
    let at = from;
    while (at < to) {
      if (this.hasStopped) {
        this.sink.unread?.(textOf(given.bytes, at, to));
        // What the text names may go on behind it.
        return isEnd ? to : Math.max(at, to - uuidLength + 1);
      }
      const limit = Math.min(to, at + longestRecord);
      const end = this.takeOne(given, at, limit, isEnd && limit === to);
      if (end < 0 && limit - at < longestRecord) return at;
      at = end < 0 ? this.takeLong(given, at, limit) : end;
    }
    return at;
  }

  /** Takes a record that is too long. Returns where to read on. */
  protected takeLong(_given: Bytes, from: number, _to: number): number {
    this.stop(tooLong, "");
    return from;
  }

  /** Stops reading: nothing can be read behind a text. */
  protected stop(reason: string, text: string): void {
    if (!this.hasStopped) this.sink.skip?.(this.next, `${reason}: reading stopped`, text, true);
    this.hasStopped = true;
  }

  /** Takes a plain record and the rest of its line. Returns the offset after it; -1 for others. */
  protected takePlain(given: Bytes, from: number, to: number, list?: string): number {
    const { reader } = this.sink;
    const { bytes } = given;
    if (reader === undefined || bytes[from] !== ascii.openObject) return -1;
    const end = reader.readObject(given, from, to);
    if (end < 0) return -1;
    let after = end;
    if (this.lineEnd !== undefined) {
      while (bytes[after] !== this.lineEnd && after < to)
        if ((bytes[after++] as number) > ascii.space) return -1;
      if (after++ === to) return -1;
    }
    const entry = reader.entry(given, this.next, from, end);
    if (entry === null) return -1;
    this.sink.add?.(entry, list);
    return after;
  }

  /** Returns the offset after the end of the line, or -1. */
  protected endOfLine({ bytes }: Bytes, from: number, to: number): number {
    // Behind `to` are up to a million zeros.
    const end = this.lineEnd === undefined ? -1 : bytes.subarray(0, to).indexOf(this.lineEnd, from);
    return end < 0 ? -1 : end + 1;
  }
}

/** Depth of nesting at which reading stops. */
const deepest = 50;

/** An open list or object, or the sequence of all values. */
interface Container {
  isList: boolean;
  /** Name of the list: the last key before it. */
  name: string;
  /** Key of the value that comes next in an object. */
  key: string | undefined;
  /** Names for the rows in an object. */
  names?: readonly string[] | undefined;
  hasItems: boolean;
}

/**
 * Cuts JSON by the depth of braces: objects in lists, in lists in objects, by id, or one after
 * another; rows by the names beside them. What is in front of an object and no JSON is passed over.
 */
export class JsonCutter extends Cutter {
  readonly format = "json";
  readonly #stack: Container[] = [{ isList: true, name: "", key: undefined, hasItems: false }];
  /** Where the last element ends. */
  #last = 0;

  override take(given: Bytes, from: number, to: number, isEnd: boolean): number {
    this.#last = from;
    const end = super.take(given, from, to, isEnd);
    if (isEnd && end >= to && this.#stack.length > 1)
      this.stop("cut off here", textOf(given.bytes, this.#last, to));
    return end;
  }

  protected takeOne(given: Bytes, from: number, to: number, isEnd: boolean): number {
    const { bytes } = given;
    const byte = bytes[from] as number;
    const place = this.#place;
    if (byte <= ascii.space || byte === ascii.comma || byte === ascii.colon) return from + 1;
    if (byte === ascii.openObject) return this.#takeObject(given, from, to, isEnd);
    if (byte === ascii.openList) return this.#takeList(given, from, to, isEnd);
    if (byte === ascii.closeObject || byte === ascii.closeList) {
      if (this.#stack.length > 1) this.#stack.pop();
      this.#place.key = undefined;
      return from + 1;
    }
    if (this.#stack.length === 1) return from + 1;
    const end = byte === ascii.quote ? endOfValue(given, from, to) : endOfWord(bytes, from, to);
    if (end < 0 || (end === to && !isEnd)) return isEnd ? to : -1;
    if (place.isList) return this.#takeWhole(given, from, end);
    place.key =
      place.key === undefined
        ? bytes.toString("utf8", from + 1, Math.min(end - 1, from + 100))
        : undefined;
    return end;
  }

  get #place(): Container {
    return this.#stack.at(-1) as Container;
  }

  /** Goes on in a list or object. Returns the offset of its first value. */
  #open(given: Bytes, from: number, isList: boolean, hasItems = false): number {
    const { key, name } = this.#place;
    const depth = this.#stack.push({ isList, name: key ?? name, key: undefined, hasItems });
    if (depth > deepest) this.stop("nested too deeply", textOf(given.bytes, this.#last, from));
    return from + 1;
  }

  /** Takes names, a row of values by them, or keys with values; goes on in any other list. */
  #takeList(given: Bytes, from: number, to: number, isEnd: boolean): number {
    const place = this.#place;
    const names = place.isList ? this.#stack.at(-2)?.names : undefined;
    const isKeyed =
      names === undefined &&
      place.isList &&
      /^\[\s*\{\s*"(?:key|field|name)"(?!\s*:\s*"?(?:\d|[\da-f]{8}-))/.test(
        textOf(given.bytes, from, from + 60),
      );
    if (names === undefined && !isHeader(place.key ?? "") && !isKeyed)
      return this.#open(given, from, true);
    const end = endOfValue(given, from, to);
    if (end < 0) return isEnd ? this.takeLong(given, from, to, "cut off here") : -1;
    const text = textOf(given.bytes, from, end);
    if (names !== undefined) {
      // Items may be in lists of lists beside what looks like names.
      const isOther = text.includes("{") && parse(text, 0, names).reason !== undefined;
      if (isOther) return this.#open(given, from, true);
      if (this.headers.at(-1)?.names !== names)
        this.headers.push({ offset: given.offset + from, names });
      return this.#takeWhole(given, from, end, names);
    }
    if (isKeyed && parse(text).reason === undefined) return this.#takeWhole(given, from, end);
    if (!isKeyed) place.names = namesOf(text);
    if (place.names === undefined) return this.#open(given, from, true);
    place.key = undefined;
    return end;
  }

  /** Takes an object. Returns the offset after it, inside it for a wrapper; -1 if incomplete. */
  #takeObject(given: Bytes, from: number, to: number, isEnd: boolean): number {
    const { hasItems, name } = this.#place;
    const plain = hasItems ? this.takePlain(given, from, to, name) : -1;
    if (plain >= 0) return this.#after(plain);
    const end = endOfValue(given, from, to);
    if (end >= 0) return this.#takeWhole(given, from, end);
    return isEnd ? this.takeLong(given, from, to, "cut off here") : -1;
  }

  /** Takes what has no end, or is too long: a wrapper, or what nothing can be read behind. */
  protected override takeLong(given: Bytes, from: number, to: number, reason = tooLong): number {
    const place = this.#place;
    const { bytes } = given;
    if (!place.hasItems && bytes[from] === ascii.openObject) return this.#open(given, from, false);
    const isRow = place.isList && !bytes.subarray(from, to).includes(ascii.openObject);
    if (bytes[from] === ascii.openList && !isRow) return this.#open(given, from, true);
    this.stop(reason, textOf(bytes, this.#last, from));
    return from;
  }

  /** Takes an object, or what is in a list: an item may be written as a string. */
  #takeWhole(given: Bytes, from: number, to: number, names?: readonly string[]): number {
    const place = this.#place;
    const isObject = given.bytes[from] === ascii.openObject;
    const text = textOf(given.bytes, from, to);
    const parsed = parse(text, 0, names);
    const { value, fields, likeness, isText, reason } = parsed;
    if (reason !== undefined) {
      if (!isObject && names === undefined && !place.hasItems && this.#stack.length > 2) {
        this.sink.passOver?.(place.name);
        return to;
      }
      this.sink.skip?.(this.next, reason, text);
      return this.#after(to);
    }
    if (isObject && isWrapper(parsed, place.hasItems))
      return this.#open(given, from, false, isById(value));
    const isMember = !place.isList && !place.hasItems;
    const isOther = isMember && likeness < (/\d/.test(place.key ?? "") ? similar : alike);
    if (isOther || isEmptyWrapper(parsed)) {
      place.key = undefined;
      return to;
    }
    place.hasItems ||= likeness > unlike;
    const list = this.#stack.length > 1 ? place.name : undefined;
    this.sink.record({ line: this.next, fields, likeness, isText, list, given, from, to });
    return this.#after(to);
  }

  #after(end: number): number {
    this.next += 1;
    this.#last = end;
    this.#place.key = undefined;
    return end;
  }
}

/** Returns where a number or another word ends, which is a byte long at least. */
function endOfWord(bytes: Buffer, from: number, to: number): number {
  let at = from + 1;
  while (at < to && !endsWord.has(bytes[at] as number)) at += 1;
  return at;
}

const endsWord = new Set([...Buffer.from(",]}"), ...Array.from({ length: 33 }).keys()]);

/** Cuts NDJSON by lines. A line that is not one object is cut by the depth of braces. */
export class LineCutter extends Cutter {
  readonly format = "ndjson";
  #hasItems = false;

  protected takeOne(given: Bytes, from: number, to: number, isEnd: boolean): number {
    const plain = this.takePlain(given, from, to);
    if (plain >= 0) {
      this.next += 1;
      return plain;
    }
    const end = this.endOfLine(given, from, to);
    if (end < 0 && !isEnd) return -1;
    this.#takeLine(given, from, end < 0 ? to : end - 1, end < 0);
    this.next += 1;
    return end < 0 ? to : end;
  }

  #takeLine(given: Bytes, from: number, to: number, isLast: boolean): void {
    const { sink, next: line } = this;
    const { bytes } = given;
    const text = textOf(bytes, from, to).replaceAll("\0", "").trim();
    const parsed = parse(text);
    const { fields, likeness, isText, reason = "no item" } = parsed;
    if (text === "" || isEmptyWrapper(parsed)) return;
    if (parsed.reason === undefined && !isWrapper(parsed, this.#hasItems)) {
      this.#hasItems ||= likeness > unlike;
      const start = bytes.indexOf(text.charAt(0), from);
      const end = bytes.lastIndexOf(text.charAt(text.length - 1), to - 1) + 1;
      return sink.record({ line, fields, likeness, isText, given, from: start, to: end });
    }
    const records: RawRecord[] = [];
    const unread: string[] = [];
    let isCut = false;
    new JsonCutter({
      record: (record) => {
        // A row cannot be read again without its names.
        if (bytes[record.from] !== ascii.openList)
          records.push({ ...record, line, list: undefined });
      },
      skip: (_line, _reason, part, isEnd) => {
        unread.push(part);
        isCut ||= isLast && isEnd === true;
      },
      unread: (part) => void unread.push(part),
    }).take(given, from, to, true);
    // An object that looks like nothing may be a part of an item whose beginning is missing.
    const items = records.filter((record) => record.likeness > unlike);
    for (const item of items) sink.record(item);
    const rest = items.length === 0 ? text : unread.join(" ");
    if (isCut || items.length === 0 || rest.includes("{") || anyUuid.test(rest))
      sink.skip?.(line, isCut ? "not JSON: the last line is cut off" : reason, rest, isCut);
  }
}
