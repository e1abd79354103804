import { looksLikeUuid } from "../columns/values.ts";
import { uuidLength } from "../fold/vault-table.ts";
import type { Bytes } from "./bytes.ts";
import {
  ValueScan,
  carriageReturn,
  closeList,
  closeObject,
  colon,
  comma,
  endOfValue,
  nextElement,
  openList,
  openObject,
  quote,
  space,
  textOf,
} from "./bytes.ts";
import type { Fields } from "./fields.ts";
import {
  alike,
  anyUuid,
  fieldsOf,
  flattened,
  isById,
  isWrapper,
  likenessOf,
  longestRecord,
  parseObject,
  similar,
  tooLong,
  unlike,
} from "./fields.ts";
import type { Cutter, Sink } from "./records.ts";

/** Depth of nesting at which reading stops. */
const deepest = 500;
/** Maximum number of broken elements after each of which the next one is looked for. */
const maxBroken = 100;
/** Maximum number of objects that are parsed in a list before its first item. */
const maxTried = 1000;

/** An open list or object, or the sequence of all values. */
interface Container {
  isList: boolean;
  /** Name of the list: the last key before it. */
  name: string;
  /** Key of the value that comes next in an object. */
  key: string | undefined;
  /** Items were found in it. */
  hasItems: boolean;
  /** Its items do not name the vault, but its name does. */
  isKeyed?: boolean;
  /** Number of its objects before the first item. */
  tried: number;
}

const container = (isList: boolean, name: string, hasItems = false): Container => ({
  isList,
  name,
  key: undefined,
  hasItems,
  tried: 0,
});

/**
 * Cuts JSON by the depth of braces: objects in lists, in lists in objects, by id, or one after another. What is in front of an object and no
 * JSON is passed over.
 */
export class JsonCutter implements Cutter {
  next = 1;
  readonly #sink: Sink;
  /** The line that all of it is in. */
  readonly #line: number | undefined;
  readonly #stack = [container(true, "")];
  /** A value that is passed over. */
  #scan: ValueScan | undefined;
  #broken = 0;
  #isStopped = false;
  /** An object that is cut off, perhaps around items, and the number of the element in it. */
  #begun: { text: string; next: number } | undefined;

  constructor(sink: Sink, line?: number) {
    this.#sink = sink;
    this.#line = line;
  }

  readonly fieldsOf = (bytes: Buffer): Fields | string => fieldsOf(textOf(bytes));

  take(given: Bytes, from: number, to: number, isEnd: boolean): number {
    const { bytes } = given;
    let at = from;
    while (at < to) {
      if (this.#isStopped) return this.#stop(given, at, to, isEnd);
      if (this.#scan !== undefined) {
        const end = this.#scan.end(given, at, to);
        this.#sink.unread(textOf(bytes, at, end < 0 ? to : end));
        if (end < 0) break;
        this.#scan = undefined;
        at = end;
        continue;
      }
      const place = this.#place;
      const byte = bytes[at] as number;
      if (byte <= space || byte === comma || byte === colon) at += 1;
      else if (byte === openObject) {
        const end = this.#takeObject(given, at, to, isEnd);
        if (end < 0) return at;
        at = end;
      } else if (byte === openList) {
        this.#open(container(true, place.key ?? place.name));
        at += 1;
      } else if (byte === closeObject || byte === closeList) {
        if (this.#stack.length > 1) this.#stack.pop();
        this.#place.key = undefined;
        at += 1;
      } else if (this.#stack.length === 1) at += 1;
      else {
        const end = byte === quote ? endOfValue(given, at, to) : endOfWord(bytes, at, to);
        if (end < 0 || (end === to && !isEnd)) {
          if (!isEnd && to - at <= longestRecord) return at;
          this.#scan = byte === quote ? new ValueScan() : undefined;
          if (this.#scan === undefined) at = to;
          continue;
        }
        if (!place.isList && place.key === undefined)
          place.key = bytes.toString("utf8", at + 1, Math.min(end - 1, at + 100));
        else if (byte !== quote || !place.isList || !this.#takeString(given, at, end))
          this.#takeScalar(place, textOf(bytes, at, Math.min(end, at + 100)));
        at = end;
      }
    }
    if (isEnd && (this.#stack.length > 1 || this.#scan !== undefined))
      this.#cutHere(this.#begun?.next === this.next ? this.#begun.text : "", "cut off here");
    return to;
  }

  get #place(): Container {
    return this.#stack.at(-1) as Container;
  }

  #open(place: Container): void {
    if (this.#stack.push(place) > deepest) this.#cutHere("", "nested too deeply");
  }

  /** Takes the object at an offset. Returns the offset after it or, for one that holds items, in it; -1 if it is not whole. */
  #takeObject(given: Bytes, from: number, to: number, isEnd: boolean): number {
    const place = this.#place;
    const { reader } = this.#sink;
    if (reader !== undefined && place.hasItems && place.isKeyed !== true) {
      const end = reader.readObject(given, from, to, false);
      const line = this.#line ?? this.next;
      const entry = end < 0 ? null : reader.entry(given, line, this.#sink.offset, from, end);
      if (entry !== null) {
        this.#sink.add(entry, place);
        return this.#after(end);
      }
    }
    const end = endOfValue(given, from, to);
    if (end >= 0 && end - from <= longestRecord) return this.#takeWhole(given, from, end);
    if (!isEnd && to - from <= longestRecord) return -1;
    const next = this.#nextElement(given, from, to);
    if (next >= 0) return next;
    if (isEnd && end < 0) {
      const text = textOf(given.bytes, from, to);
      if (place.hasItems) {
        this.#cutHere(text, "cut off here");
        return to;
      }
      this.#begun ??= { text, next: this.next };
    }
    if (!place.hasItems) {
      this.#open(container(false, place.key ?? place.name));
      return from + 1;
    }
    this.#skip(tooLong, "");
    this.#scan = new ValueScan();
    return this.#after(from);
  }

  /** Returns where the element after a broken one begins, or -1. */
  #nextElement(given: Bytes, from: number, to: number): number {
    const next = this.#broken < maxBroken ? nextElement(given, from, to) : -1;
    if (next < 0) return -1;
    this.#broken += 1;
    this.#skip("not JSON", textOf(given.bytes, from, next));
    return this.#after(next);
  }

  #takeWhole(given: Bytes, from: number, to: number): number {
    const place = this.#place;
    if (!place.hasItems && place.tried >= maxTried) {
      this.#sink.passOver(place.name, 1);
      place.key = undefined;
      return to;
    }
    const text = textOf(given.bytes, from, to);
    const { value, reason = "" } = parseObject(text);
    const fields = value === undefined ? reason : flattened(value);
    if (value === undefined || typeof fields === "string") {
      const next = this.#nextElement(given, from, to);
      if (next >= 0) return next;
      this.#skip(typeof fields === "string" ? fields : reason, text);
      return this.#after(to);
    }
    const likeness = likenessOf(fields);
    if (this.#stack.length < deepestWrapper && isWrapper(value, likeness, place.hasItems)) {
      const key = place.key ?? place.name;
      this.#open(container(false, key, isById(value)));
      return from + 1;
    }
    const isMember = !place.isList && !place.hasItems;
    const isOther = isMember && likeness < (/\d/.test(place.key ?? "") ? similar : alike);
    if (isOther || isEmptyWrapper(value, likeness)) {
      place.key = undefined;
      return to;
    }
    place.hasItems ||= likeness > 0;
    place.tried += 1;
    this.#nameVault(place, fields);
    const list = this.#stack.length > 1 ? place : undefined;
    this.#sink.record({ line: this.#line ?? this.next, fields, list, given, from, to });
    return this.#after(to);
  }

  /** Counts an element. */
  #after(end: number): number {
    this.next += 1;
    this.#place.key = undefined;
    return end;
  }

  /** In a list by vault, the items need not name it. */
  #nameVault(place: Container, fields: Fields): void {
    const { name: key } = place;
    if (!place.isList || !looksLikeUuid(key)) return;
    const isNamed = [...fields].some(
      ([name, value]) => value.includes(key) || (/vault|wallet/i.test(name) && anyUuid.test(value)),
    );
    if (isNamed) return;
    place.isKeyed = true;
    fields.set("vaultUuid", key);
  }

  /** Takes the text of an item, which is written as a string. */
  #takeString(given: Bytes, from: number, to: number): boolean {
    const fields = to - from > longestRecord ? "" : fieldsOf(textOf(given.bytes, from, to));
    if (typeof fields === "string" || likenessOf(fields) === 0) return false;
    const place = this.#place;
    this.#sink.record({ line: this.#line ?? this.next, fields, list: place, given, from, to });
    this.#after(to);
    return true;
  }

  #takeScalar(place: Container, text: string): void {
    place.key = undefined;
    if (!place.isList) return;
    if (!place.hasItems && this.#stack.length > 2) return this.#sink.passOver(place.name, 1);
    const kind = text.startsWith('"')
      ? "a string"
      : /^-?\d/.test(text)
        ? "a number"
        : words.get(text);
    this.#skip(kind === undefined ? "not JSON" : `${kind}, not an object`, text);
    this.next += 1;
  }

  #skip(reason: string, text: string): void {
    this.#sink.skip(this.#line ?? this.next, reason, text);
  }

  #cutHere(text: string, reason: string): void {
    if (this.#isStopped) return;
    this.#skip(`${reason}: reading stopped`, text);
    this.#sink.cut(this.#line ?? this.next);
    this.#isStopped = true;
  }

  /** Looks through the rest for what it names, but for what may be a part of a name. */
  #stop(given: Bytes, from: number, to: number, isEnd: boolean): number {
    this.#sink.unread(textOf(given.bytes, from, to));
    return isEnd ? to : Math.max(from, to - uuidLength);
  }
}

const words: ReadonlyMap<string, string> = new Map([
  ["null", "null"],
  ["true", "a boolean"],
  ["false", "a boolean"],
]);

/** Depth of containers below which an object is not looked into for items, unless it is too long to be one. */
const deepestWrapper = 10;

/** Whether a value is a page like `{"items":[]}`, and not an item with an empty list. */
const isEmptyWrapper = (value: object, likeness: number): boolean =>
  likeness === 0 && Object.values(value).some((one) => Array.isArray(one) && one.length === 0);

/** Returns the offset after a number or word. */
function endOfWord(bytes: Buffer, from: number, to: number): number {
  let at = from;
  for (let byte = bytes[at] as number; at < to; byte = bytes[++at] as number)
    if (byte <= space || byte === comma || byte === closeObject || byte === closeList) break;
  return at === from ? from + 1 : at;
}

/** Cuts NDJSON by lines. A line that is not one object is cut by the depth of braces. */
export class LineCutter implements Cutter {
  next = 1;
  readonly #sink: Sink;
  #hasItems = false;
  /** Whether the rest of a line is passed over, which is too long. */
  #isTooLong = false;
  readonly #end: number;

  /** `end`: the byte that ends a line. */
  constructor(sink: Sink, end: number) {
    this.#sink = sink;
    this.#end = end;
  }

  readonly fieldsOf = (bytes: Buffer): Fields | string => fieldsOf(textOf(bytes));

  take(given: Bytes, from: number, to: number, isEnd: boolean): number {
    const { bytes } = given;
    const sink = this.#sink;
    const { reader } = sink;
    const lineEnd = this.#end;
    let at = from;
    while (at < to) {
      if (reader !== undefined && bytes[at] === openObject && !this.#isTooLong) {
        let end = reader.readObject(given, at, to, true);
        const length = end - at;
        while (end >= 0 && end < to && isLineBlank(bytes[end] as number)) end += 1;
        if (end >= 0 && end < to && bytes[end] === lineEnd) {
          const entry = reader.entry(given, this.next, sink.offset, at, at + length);
          if (entry !== null) {
            sink.add(entry);
            this.next += 1;
            at = end + 1;
            continue;
          }
        }
      }
      const found = bytes.indexOf(lineEnd, at);
      const isWhole = found >= 0 && found < to;
      if (!isWhole && !isEnd) {
        if (to - at <= longestRecord && !this.#isTooLong) return at;
        this.#isTooLong = true;
        sink.unread(textOf(bytes, at, to));
        return to;
      }
      const end = isWhole ? found : to;
      if (this.#isTooLong || end - at > longestRecord)
        sink.skip(this.next, tooLong, textOf(bytes, at, end));
      else this.#takeLine(given, at, end, isWhole);
      this.#isTooLong = false;
      this.next += 1;
      at = end + 1;
    }
    if (isEnd && this.#isTooLong) sink.skip(this.next, tooLong, "");
    return to;
  }

  /** Takes a line that is not plain: an object, or what is cut by the depth of braces. */
  #takeLine(given: Bytes, from: number, to: number, hasEnded: boolean): void {
    const sink = this.#sink;
    const line = this.next;
    const text = textOf(given.bytes, from, to).replaceAll("\0", "").trim();
    if (text === "") return;
    const { value, reason } = parseObject(text);
    const fields = value === undefined ? reason : flattened(value);
    if (value !== undefined && typeof fields !== "string") {
      const likeness = likenessOf(fields);
      if (isEmptyWrapper(value, likeness)) return;
      if (!isWrapper(value, likeness, this.#hasItems)) {
        this.#hasItems ||= likeness > 0;
        const isString = text.startsWith('"');
        const start = given.bytes.indexOf(isString ? quote : openObject, from);
        const end = given.bytes.lastIndexOf(isString ? quote : closeObject, to - 1) + 1;
        return sink.record({ line, fields, given, from: start, to: end });
      }
    }
    let count = 0;
    let isCut = false;
    const skips: [string, string][] = [];
    const inner: Sink = {
      offset: sink.offset,
      reader: undefined,
      add: (entry) => sink.add(entry),
      record: (record) => {
        // A small part of an item whose beginning is missing.
        const isPart = (record.to - record.from) * 2 < text.length;
        if (isPart && likenessOf(record.fields) === unlike) return;
        count += 1;
        sink.record({ ...record, list: undefined });
      },
      skip: (_line, why, part) => void skips.push([why, part]),
      unread: (part) => sink.unread(part),
      cut: () => (isCut = !hasEnded),
      passOver: () => undefined,
    };
    new JsonCutter(inner, line).take(given, from, to, true);
    if (count > 0) {
      for (const [why, part] of skips)
        if (part.startsWith("{") || anyUuid.test(part)) sink.skip(line, why, part);
    } else
      sink.skip(
        line,
        isCut
          ? "not JSON: the last line is cut off"
          : typeof fields === "string"
            ? fields
            : "no item",
        text,
      );
    if (isCut) sink.cut(line);
  }
}

const isLineBlank = (byte: number): boolean =>
  byte === space || byte === 0x09 || byte === carriageReturn;
