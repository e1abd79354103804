import type { Bytes } from "../bytes.ts";
import { contentHashOf, idHashOf, KnownText, TextValues, viewOf } from "../bytes.ts";
import type { Classifier, Meaning } from "../../meaning/classifier.ts";
import { itemOf, vaultOf, entryOf } from "../entries.ts";
import type { TimeReader } from "../../columns/times.ts";
import type { EntryOptions, SpareEntries } from "../entries.ts";
import type { Entry, Item, Role } from "../item.ts";
import { uuidLength, type VaultTable } from "../../fold/vault-table.ts";
import { flatten, parseObject } from "./record.ts";
import type { Block, Lines } from "./lines.ts";
import { textLinesOf } from "./lines.ts";
import type { AuditRecord, SkipLine } from "./record.ts";
import type { Columns } from "../../../documents/audit.ts";

/** Reads the lines of a block as records. */
export function recordsIn(block: Block, lines: Lines, skip: SkipLine): AuditRecord[] {
  const records: AuditRecord[] = [];
  for (const { number, text, ended } of textLinesOf(block, lines)) {
    if (text.trim() === "") continue;
    const fields = fieldsOf(text, ended);
    if (fields instanceof Map) records.push({ line: number, fields, text });
    else skip(number, fields.reason, fields.isCut, text);
  }
  return records;
}

/** Why a line is not a record. */
interface NoRecord {
  reason: string;
  /** Whether the input is cut off in it. */
  isCut?: boolean;
}

/** Returns the columns of a line, or why it is not a record. A line without a newline may be cut off. */
function fieldsOf(text: string, hasEnded: boolean): Map<string, string> | NoRecord {
  const parsed = parseObject(text);
  if (parsed.value === undefined)
    return parsed.reason === "not JSON" && !hasEnded && /^\s*\{/.test(text)
      ? { reason: "not JSON: the last line is cut off", isCut: true }
      : { reason: parsed.reason };
  try {
    return flatten(parsed.value);
  } catch (error) {
    if (error instanceof RangeError) return { reason: "nested too deeply" };
    throw error;
  }
}

/** Parses a line as an item, or returns why it is not one. */
export function itemOfLine(
  text: string,
  columns: Columns,
  times: TimeReader,
  input: number,
  line: number,
  hasEnded: boolean,
): Item | NoRecord {
  const fields = fieldsOf(text, hasEnded);
  return fields instanceof Map ? itemOf(fields, columns, times, input, line) : fields;
}

const newline = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const opening = 0x7b;
const closing = 0x7d;

/** Length of a line beyond which it may have more columns than are read. */
const longestPlain = 8192;

/** What stands between a value and the next one in many lines, with the key of the next one; or what ends a line. */
interface Gap {
  text: KnownText;
  /** The role of that key that counts, `unread` for any other, `unclear` for one with several such roles, or `last`. */
  role: number;
  /** Whether the value is a string. */
  isText: boolean;
  /** Number of its bytes that belong to the object. */
  inObject: number;
  /** Another one that was seen at the same place. */
  other: Gap | undefined;
}

/** Maximum number of gaps that are remembered for a place. */
const maxGaps = 8;

/** An action, with what it means by the numbers of outcomes. */
interface Action {
  text: string;
  meanings: (Meaning | undefined)[];
}

const [time, action, vault, outcome, id, description] = [1, 2, 4, 8, 16, 32] as const;
const unread = 0;
const unclear = 64;
const last = 128;

/** The roles that count. The others are read from an item only for a report. */
const bits: Partial<Record<Role, number>> = { time, action, vault, outcome, id, description };

/** Maximum number of actions, and of outcomes, that are known by number. */
const maxTexts = 1000;

/** A value that an item does not have. */
const none: number = -1;

/**
 * Reads lines of NDJSON from their bytes: one object of strings, numbers, true, false and null, with its keys in any order. A line with
 * anything else (escapes, objects, lists, a column twice, a time in another form) is parsed whole. Objects for each value would take
 * three times as long.
 */
export class LineReader {
  readonly #columns: Columns;
  readonly #input: number;
  readonly #vaults: VaultTable;
  readonly #classifier: Classifier;
  readonly #skip: SkipLine;
  readonly #lines: Lines;
  readonly #roles = new TextValues((name) => this.#roleOf(name));
  /** The gaps of the lines so far, by their place in the line: most lines have the same. */
  readonly #gaps: Gap[] = [];
  /**
   * The gaps of the first line up to a value that is no string, one after another: length, role, and its bytes
   * as words, the last of which may overlap the one before. Following objects for them takes a tenth of the time.
   */
  readonly #shape = new Int32Array(2048);
  #shapeEnd = 0;
  #inShape = 0;
  readonly #times: TimeReader;
  readonly #actions: Action[] = [];
  readonly #actionNumbers = new TextValues((text) =>
    added({ text, meanings: [] }, text, this.#actions),
  );
  readonly #outcomes: string[] = [];
  readonly #outcomeNumbers = new TextValues((text) => added(text, text, this.#outcomes));
  /** Descriptions are texts by their bytes: a new text would be decoded and hashed for every failure. */
  readonly #descriptions = new TextValues((text) => text);
  /** Outcome of an item without one: undefined if there is no such column. */
  readonly #noOutcome: null | undefined;
  /** Whether items have endpoints, which may name the vault, or tell what an unknown action means. */
  readonly #hasEndpoint: boolean;
  /** Whether the input can be read again. */
  readonly #isFile: boolean;
  readonly #spare: SpareEntries;
  /** The entries of a block, and their number. */
  readonly #entries: Entry[] = [];
  #count = 0;
  /** Offset of the block in the input. */
  #offset = 0;

  constructor(
    lines: Lines,
    columns: Columns,
    times: TimeReader,
    { index, vaults, classifier, spare }: EntryOptions,
    skip: SkipLine,
    isFile: boolean,
  ) {
    this.#lines = lines;
    this.#isFile = isFile;
    this.#columns = columns;
    this.#times = times;
    this.#input = index;
    this.#vaults = vaults;
    this.#spare = spare;
    this.#classifier = classifier;
    this.#skip = skip;
    this.#hasEndpoint = columns.endpoint !== undefined;
    this.#noOutcome = columns.outcome === undefined ? undefined : null;
  }

  /** Reads the lines of a block. */
  read({ bytes, from, to, offset }: Block): Entry[] {
    this.#count = 0;
    this.#offset = offset;
    const given = viewOf(bytes);
    for (let at = from; at < to; this.#lines.next += 1) {
      const entry = this.#spare.take();
      const next = this.#readPlain(given, at, to, entry);
      if (next >= 0) {
        this.#entries[this.#count++] = entry;
        at = next;
        continue;
      }
      this.#spare.give(entry);
      const end = bytes.indexOf(newline, at);
      const hasEnded = end >= 0 && end < to;
      this.#parse(given, at, hasEnded ? end : to, hasEnded);
      at = hasEnded ? end + 1 : to;
    }
    return this.#entries.slice(0, this.#count);
  }

  /** Reads a plain line. Returns the offset after it, or -1 for any other line. */
  #readPlain(given: Bytes, from: number, to: number, entry: Entry): number {
    const { bytes } = given;
    let at = from;
    let seen = 0;
    let called = none;
    let result = none;
    let describedFrom = none;
    let describedTo = none;
    entry.time = Number.NaN;
    entry.vault = none;
    entry.idHash = 0;
    const { view } = given;
    const shape = this.#shape;
    let place = 0;
    for (let index = 0; ; index++) {
      const length = shape[place] as number;
      let role = shape[place + 1] as number;
      let isText = true;
      const lastWord = place + 2 + ((length - 1) >> 2);
      if (
        length > 0 &&
        at + length <= to &&
        isShapeAt(shape, place + 2, lastWord, view, at, length)
      ) {
        at += length;
      } else {
        const gap = this.#gapAt(given, at, to, index);
        if (gap === undefined) return -1;
        ({ role, isText } = gap);
        if (role === last) {
          at += gap.inObject;
          if (entry.idHash === 0) entry.idHash = contentHashOf(given, from, at);
          entry.content = this.#contentOf(bytes, from, at);
          at += gap.text.length - gap.inObject;
          break;
        }
        at += gap.text.length;
      }
      place = length > 0 ? lastWord + 1 : place;
      if ((seen & role) !== 0) return -1;
      seen |= role;
      const start = at;
      if (!isText) {
        at = endOfBare(bytes, at);
        if (at < 0 || (role !== unread && !isPlainBare(bytes, start, at))) return -1;
        if (bytes[start] === 0x6e) continue;
      } else if (role === vault && bytes[start + uuidLength] === quote && start + uuidLength < to) {
        entry.vault = this.#vaults.at(given, start);
        if (entry.vault >= 0) {
          at = start + uuidLength;
          continue;
        }
      }
      if (role === outcome && result === none && isText) {
        // Most outcomes are the same.
        const end = this.#outcomeNumbers.endOfLast(given, start, to);
        if (end >= 0) {
          result = this.#outcomeNumbers.last as number;
          at = end;
          continue;
        }
      }
      if (isText) {
        at = endOfString(given, start, to);
        if (bytes[at] !== quote) return -1;
      }
      if (role === unread || at === start) continue;
      if (role === id) entry.idHash = idHashOf(given, start, at);
      else if (role === time) this.#times.read(given, start, at, entry);
      else if (role === action) {
        called = this.#actionNumbers.get(given, start, at);
        if (called < 0) return -1;
      } else if (role === outcome) {
        result = this.#outcomeNumbers.get(given, start, at);
        if (result < 0) return -1;
      } else if (role === description) {
        describedFrom = start;
        describedTo = at;
      } else if (role === vault) {
        entry.vault = this.#vaults.of(vaultOf(bytes.toString("utf8", start, at)) ?? "");
        if (entry.vault < 0) return -1;
      } else return -1;
    }
    if (at - from > longestPlain || Number.isNaN(entry.time) || called < 0) return -1;
    if (entry.vault < 0 && this.#hasEndpoint) return -1;
    const { text, meanings } = this.#actions[called] as Action;
    const meaning = (meanings[result + 1] ??= this.#classifier.meaningOf(
      text,
      result < 0 ? this.#noOutcome : this.#outcomes[result],
      this.#columns.outcome?.inverted,
    ));
    if (meaning.asksEndpoint && this.#hasEndpoint) return -1;
    const isDescribed = meaning.kind === undefined && describedFrom >= 0;
    entry.event = this.#classifier.take(
      meaning,
      isDescribed ? this.#descriptions.get(given, describedFrom, describedTo) : null,
    );
    entry.input = this.#input;
    entry.line = this.#lines.next;
    return at;
  }

  /** Parses a line of any other form, from `from` up to `to`, without its end. */
  #parse({ bytes }: Bytes, from: number, to: number, hasEnded: boolean): void {
    const end = hasEnded && bytes[to - 1] === carriageReturn && to > from ? to - 1 : to;
    const text = bytes.toString("utf8", from, end);
    if (text.trim() === "") return;
    const line = this.#lines.next;
    const item = itemOfLine(text, this.#columns, this.#times, this.#input, line, hasEnded);
    if ("reason" in item) return this.#skip(line, item.reason, item.isCut, text);
    const entry = entryOf(item, text, this.#vaults, this.#classifier, this.#columns);
    entry.content = this.#contentOf(bytes, from, end);
    this.#entries[this.#count++] = entry;
  }

  /** Returns what the item of a line is read from if a report needs it. */
  #contentOf(bytes: Buffer, from: number, to: number): Entry["content"] {
    return this.#isFile ? this.#offset + from : bytes.toString("latin1", from, to);
  }

  /** Returns what stands between the end of a value, or the start of the line, and the next value or line; undefined for anything else. */
  #gapAt(given: Bytes, from: number, to: number, index: number): Gap | undefined {
    let count = 0;
    for (let gap = this.#gaps[index]; gap !== undefined; gap = gap.other, count++) {
      const end = from + gap.text.length;
      if (end > to || !gap.text.isAt(given, from)) continue;
      if (gap.isText || (given.bytes[end] !== quote && given.bytes[end] !== space)) return gap;
    }
    const gap = this.#newGapAt(given, from, to, index);
    if (gap !== undefined && index === this.#inShape) this.#addToShape(gap, given.view, from);
    if (gap !== undefined && count < maxGaps) {
      gap.other = this.#gaps[index];
      this.#gaps[index] = gap;
    }
    return gap;
  }

  /** Adds a gap, before a text, to those of the first line. */
  #addToShape({ text: { length }, role, isText }: Gap, view: DataView, from: number): void {
    const words = (length + 3) >> 2;
    const end = this.#shapeEnd;
    if (!isText || role === last || end + words + 3 > this.#shape.length) return;
    this.#shape[end] = length;
    this.#shape[end + 1] = role;
    for (let index = 0; index < words; index++)
      this.#shape[end + 2 + index] = view.getInt32(from + Math.min(4 * index, length - 4), true);
    this.#shapeEnd += 2 + words;
    this.#inShape += 1;
  }

  #newGapAt(given: Bytes, from: number, to: number, index: number): Gap | undefined {
    const { bytes } = given;
    const afterSpaces = (start: number): number => {
      let at = start;
      while (bytes[at] === space) at += 1;
      return at;
    };
    const gapTo = (end: number, gap: Omit<Gap, "text" | "other">): Gap | undefined =>
      end > to ? undefined : { ...gap, text: new KnownText(given, from, end), other: undefined };
    let at = afterSpaces(index > 0 && bytes[from] === quote ? from + 1 : from);
    if (index > 0 && bytes[at] === closing) {
      const inObject = (at = afterSpaces(at + 1)) - from;
      if (bytes[at] === carriageReturn) at += 1;
      return bytes[at] === newline
        ? gapTo(at + 1, { role: last, isText: true, inObject })
        : undefined;
    }
    if (bytes[at] !== (index === 0 ? opening : comma)) return undefined;
    at = afterSpaces(at + 1);
    if (bytes[at] !== quote) return undefined;
    const key = at + 1;
    at = endOfKey(bytes, key);
    if (bytes[at] !== quote) return undefined;
    const role = this.#roles.get(given, key, at);
    at = afterSpaces(at + 1);
    if (bytes[at] !== colon) return undefined;
    at = afterSpaces(at + 1);
    const isText = bytes[at] === quote;
    return gapTo(isText ? at + 1 : at, { role, isText, inObject: 0 });
  }

  #roleOf(name: string): number {
    let role = unread;
    for (const [known, bit] of Object.entries(bits)) {
      if (this.#columns[known as Role]?.name !== name) continue;
      // A description that is the action itself says nothing more.
      if (role !== action || bit !== description) role = role === unread ? bit : unclear;
    }
    return role;
  }
}

/** Adds a value to a list by its text. Returns its index; `none` if there are too many, or the text is long. */
function added<T>(value: T, text: string, list: T[]): number {
  return list.length < maxTexts && text.length < 60 ? list.push(value) - 1 : none;
}

function isShapeAt(
  shape: Int32Array,
  first: number,
  last: number,
  view: DataView,
  from: number,
  length: number,
): boolean {
  for (let word = first, at = from; word < last; word++, at += 4)
    if (shape[word] !== view.getInt32(at, true)) return false;
  return shape[last] === view.getInt32(from + length - 4, true);
}

/** Returns the offset of the first byte that a key of ASCII without escapes cannot have. */
function endOfKey(bytes: Buffer, from: number): number {
  let at = from;
  for (let byte = bytes[at] as number; byte >= 0x20 && byte < 0x80; byte = bytes[++at] as number)
    if (byte === quote || byte === backslash) break;
  return at;
}

/** Returns the offset of the first quotation mark, escape or control character. */
function endOfString({ bytes, view }: Bytes, from: number, to: number): number {
  let at = from;
  // The highest bit of a byte is set where there is one, and where a byte is not ASCII.
  for (; at + 4 <= to; at += 4) {
    const word = view.getInt32(at, true);
    const marks =
      ((word ^ 0x22222222) - 0x01010101) |
      ((word ^ 0x5c5c5c5c) - 0x01010101) |
      (word - 0x20202020) |
      word;
    if ((marks & 0x80808080) !== 0) break;
  }
  for (let byte = bytes[at] as number; byte >= 0x20; byte = bytes[++at] as number)
    if (byte === quote || byte === backslash) break;
  return at;
}

const bare = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/** Returns the offset after true, false, null or a number; -1 if there is none. */
function endOfBare(bytes: Buffer, from: number): number {
  let at = from;
  for (; at - from < 40; at++) {
    const byte = bytes[at] as number;
    if (byte === comma || byte === closing || byte === space) break;
  }
  return bare.test(bytes.toString("latin1", from, at)) ? at : -1;
}

/** Whether a bare value is written as it is read: an integer of few digits, true, false or null. */
function isPlainBare(bytes: Buffer, from: number, to: number): boolean {
  if ((bytes[from] as number) > 0x39) return true;
  if (to - from > 15 || bytes[from] === 0x2d) return false;
  for (let at = from; at < to; at++)
    if ((bytes[at] as number) > 0x39 || bytes[at] === 0x2e) return false;
  return true;
}
