import { defined } from "../../defined.ts";
import { type Choice, timeIn } from "../columns/choose.ts";
import { bareAddress, isInverted, uuidInEndpoint, uuidOf } from "../columns/looks.ts";
import type { Bytes, VaultTable } from "./bytes.ts";
import { ascii, endOfString, endOfValue, hashOf, isAt, TextValues, viewOf } from "./bytes.ts";
import { clip } from "./clip.ts";
import type { Action, Classifier } from "../meaning/classifier.ts";
import { saysNothing } from "../meaning/words.ts";
import type { Fields } from "./fields.ts";
import { Entry, type Item, properties, type Role, roles } from "./item.ts";

/** What the columns of an input mean. */
export interface Layout extends Choice {
  index: number;
  vaults: VaultTable;
  classifier: Classifier;
}

/** The roles that count. The others are read from an item only for a report. */
const counting = ["time", "action", "vault", "outcome", "id", "reason", "endpoint"] as const;
const [time, action, vault, outcome, id, reason, endpoint] = [0, 1, 2, 3, 4, 5, 6] as const;

/** A key of an object: the slot of its value, and the tree of the columns in it. */
interface Key {
  /** Index in `counting`, or -1. */
  slot: number;
  within: Keys | undefined;
}

/** Number of keys of an object that are remembered by their place. */
const mostUsual = 100;

/** The keys of the columns below a prefix like `vault.`. */
class Keys {
  readonly texts: TextValues<Key>;
  /** Texts between values, by place in the first object: NDJSON takes a fifth longer without. */
  readonly usual: { text: Bytes; length: number; key: Key }[] = [];

  constructor(names: ReadonlyMap<string, number>) {
    this.texts = new TextValues((name) => {
      const below = [...names].filter(([column]) => column.startsWith(`${name}.`));
      const rest = below.map(([column, slot]) => [column.slice(name.length + 1), slot] as const);
      const within = rest.length === 0 ? undefined : new Keys(new Map(rest));
      return { slot: names.get(name) ?? -1, within };
    });
  }
}

/** Maximum depth of a value to pass over: for a deeper one, whoever parses the record decides. */
const deepest = 40;

/**
 * Makes entries of records from their bytes, without a text or an object for each value. A record
 * with anything that is not plain is left to those who parse it whole, with the same result.
 */
export class ItemReader {
  readonly #layout: Layout;
  readonly #inverted: boolean | undefined;
  /** Outcome of an item without one: null if others have successes, undefined if none has any. */
  readonly #noOutcome: "" | null | undefined;
  readonly #keys: Keys;
  /** Whether no column has two roles. */
  readonly #isPlain: boolean;
  /** Where the values of the columns are that count, by slot; an empty one is none. */
  readonly #from = new Int32Array(counting.length);
  readonly #to = new Int32Array(counting.length);
  readonly #texts: TextValues<string>;
  readonly #actions: TextValues<Action>;
  /** The entry of the record at hand. */
  readonly #entry = new Entry();

  /** Slots by cell of a row, and the header that they are of. */
  #slots: readonly number[] = [];
  #header: readonly string[] = [];
  /** The byte that ends a line, or 0. */
  readonly #lineEnd: number;

  constructor(layout: Layout, form: { lineEnd: number | undefined; decode(text: string): string }) {
    this.#lineEnd = form.lineEnd ?? 0;
    this.#layout = layout;
    const { columns, hasSuccesses } = layout;
    const { outcome } = columns;
    this.#inverted = outcome && isInverted(outcome);
    this.#noOutcome = outcome && (hasSuccesses ? null : "");
    const names = counting.flatMap((role, slot) => {
      const name = layout.columns[role]?.name;
      return name === undefined ? [] : [[name, slot] as const];
    });
    const slots = new Map(names);
    this.#isPlain = slots.size === names.length;
    this.#keys = new Keys(slots);
    this.#texts = new TextValues((text) => form.decode(text));
    this.#actions = new TextValues((text) =>
      layout.classifier.actionOf(form.decode(text), this.#inverted, this.#noOutcome),
    );
  }

  /** Reads cells by where each begins and ends. Returns false if one that counts is not plain. */
  readRow({ bytes }: Bytes, cells: Int32Array, header: readonly string[]): boolean {
    if (header !== this.#header) {
      const { columns } = this.#layout;
      this.#header = header;
      this.#slots = header.map((name) => counting.findIndex((one) => columns[one]?.name === name));
    }
    this.#from.set(this.#to);
    for (const [index, slot] of this.#slots.entries()) {
      if (slot < 0) continue;
      const from = cells[2 * index] as number;
      if (bytes[from] === ascii.apostrophe) return false;
      this.#set(slot, from, cells[2 * index + 1] as number);
    }
    return true;
  }

  #set(slot: number, from: number, to: number): void {
    this.#from[slot] = from;
    this.#to[slot] = to;
  }

  /**
   * Reads the values of the JSON object that begins at an offset. Returns the offset after it; -1
   * if it is not plain, or does not end before `to`, or is in several lines of NDJSON.
   */
  readObject(given: Bytes, from: number, to: number, keys = this.#keys): number {
    const { bytes } = given;
    const { usual } = keys;
    if (keys === this.#keys) this.#from.set(this.#to);
    let at = from;
    for (let index = 0; ; index++) {
      const known = usual[index];
      let key: Key;
      if (known !== undefined && at + known.length < to && isAt(known.text, given, at)) {
        ({ key } = known);
        at += known.length;
      } else {
        const start = at;
        at = this.#afterBlanks(bytes, at);
        if (at >= to) return -1;
        if (bytes[at] === ascii.closeObject) return at + 1;
        if (bytes[at] !== (index === 0 ? ascii.openObject : ascii.comma)) return -1;
        at = this.#afterBlanks(bytes, at + 1);
        if (bytes[at] !== ascii.quote)
          return bytes[at] === ascii.closeObject && index === 0 && at < to ? at + 1 : -1;
        const end = endOfString(given, at + 1, to);
        if (end >= to || bytes[end] !== ascii.quote) return -1;
        key = keys.texts.get(given, at + 1, end);
        at = this.#afterBlanks(bytes, end + 1);
        if (bytes[at] !== ascii.colon) return -1;
        at = this.#afterBlanks(bytes, at + 1);
        if (bytes[at] === ascii.quote) at += 1;
        if (at >= to) return -1;
        // As far as a value that is no text: another one may begin with what this one does.
        if (index === usual.length && index < mostUsual)
          usual.push({
            text: viewOf(Buffer.from(bytes.subarray(start, at))),
            length: at - start,
            key,
          });
      }
      at =
        bytes[at - 1] === ascii.quote
          ? this.#readText(given, at, to, key.slot)
          : this.#readValue(given, at, to, key);
      if (at < 0) return -1;
    }
  }

  /** Reads the text behind a quote. Returns the offset after it, or -1. */
  #readText(given: Bytes, from: number, to: number, slot: number): number {
    const { bytes } = given;
    let at = endOfString(given, from, to);
    if (slot < 0 || slot === reason)
      while (bytes[at] === ascii.backslash) at = endOfString(given, at + 2, to);
    if (at >= to || bytes[at] !== ascii.quote) return -1;
    if (slot >= 0) this.#set(slot, from, at);
    return at + 1;
  }

  /** Reads a value that is no text. Returns the offset after it, or -1. */
  #readValue(given: Bytes, from: number, to: number, { slot, within }: Key): number {
    const { bytes } = given;
    const byte = bytes[from] as number;
    // The gap that is known may end in a blank or at a quote.
    if (byte === ascii.quote || byte <= ascii.space) return -1;
    if (byte === ascii.openObject && within !== undefined)
      return slot < 0 ? this.readObject(given, from, to, within) : -1;
    if (byte === ascii.openObject || byte === ascii.openList) {
      const isOther = slot < 0 && within === undefined;
      const end = isOther ? endOfValue(given, from, to, deepest) : -1;
      return end >= 0 && bytes.subarray(from, end).includes(this.#lineEnd) ? -1 : end;
    }
    let at = from;
    while (isWordByte[bytes[at] as number] === 1) at += 1;
    if (at === from || at >= to) return -1;
    if (slot < 0) return at;
    const word = bytes.toString("latin1", from, at);
    if (!plainWord.test(word)) return -1;
    this.#set(slot, from, word === "null" ? from : at);
    return at;
  }

  /** Returns the offset of the first byte that is no blank: of NDJSON the end of a line is none. */
  #afterBlanks(bytes: Buffer, from: number): number {
    let at = from;
    while ((bytes[at] as number) <= ascii.space && bytes[at] !== this.#lineEnd) at += 1;
    return at;
  }

  /**
   * Returns the entry of the values that were read from a record at these bytes; null if they are
   * not plain, or no item. It is the same object each time.
   */
  entry(given: Bytes, line: number, from: number, to: number): Entry | null {
    const { times, classifier } = this.#layout;
    const called = this.#valueAt(this.#actions, given, action);
    if (!this.#isPlain || !this.#has(time) || called === undefined) return null;
    const entry = this.#entry;
    times.read(given, this.#from[time] as number, this.#to[time] as number, entry);
    if (Number.isNaN(entry.time)) return null;
    entry.vault = this.#vaultAt(given, this.#has(vault) ? vault : endpoint);
    if (entry.vault < 0 && this.#has(vault)) return null;
    const texts = this.#texts;
    const result = this.#valueAt(texts, given, outcome);
    const meaning = classifier.meaningOf(called, result);
    const described = meaning.code === undefined ? this.#valueAt(texts, given, reason) : undefined;
    const path = meaning.asksEndpoint ? this.#valueAt(texts, given, endpoint) : undefined;
    entry.code = classifier.take(meaning, described, path);
    entry.idHash = this.#has(id)
      ? hashOf(given, this.#from[id] as number, this.#to[id] as number, true)
      : hashOf(given, from, to, false);
    return this.#placed(line, given, from, to);
  }

  /** Returns the columns that count of a plain record, which may have other values that are no JSON. */
  fieldsOf(bytes: Buffer): Fields {
    const given = viewOf(bytes);
    this.readObject(given, 0, bytes.length);
    const fields: Fields = new Map();
    for (const [slot, role] of counting.entries()) {
      const text = this.#valueAt(this.#texts, given, slot);
      if (text !== undefined) fields.set(this.#layout.columns[role]?.name ?? "", text);
    }
    return fields;
  }

  /** Returns the entry of an item that was parsed whole from these bytes: the same object. */
  complete(item: Item, line: number, given: Bytes, from: number, to: number): Entry {
    const { vaults, classifier } = this.#layout;
    const entry = this.#entry;
    entry.time = item.time;
    entry.vault = vaults.of(viewOf(Buffer.from(item.vault ?? "")));
    const called = classifier.actionOf(item.action, this.#inverted, this.#noOutcome);
    const meaning = classifier.meaningOf(called, item.outcome);
    entry.code = classifier.take(meaning, item.description, item.endpoint);
    const own = viewOf(Buffer.from(item.id ?? ""));
    const isId = item.id !== undefined;
    entry.idHash = isId ? hashOf(own, 0, own.bytes.length, true) : hashOf(given, from, to, false);
    return this.#placed(line, given, from, to);
  }

  #placed(line: number, given: Bytes, from: number, to: number): Entry {
    const entry = this.#entry;
    entry.input = this.#layout.index;
    entry.line = line;
    entry.offset = given.offset + from;
    entry.length = to - from;
    return entry;
  }

  /** Returns the number of the vault that a value names; -1 if it is none. */
  #vaultAt(given: Bytes, slot: number): number {
    const { vaults } = this.#layout;
    const [from, to] = [this.#from[slot] as number, this.#to[slot] as number];
    const number = vaults.of(given, from, to);
    if (number >= 0) return number;
    return vaults.of(viewOf(Buffer.from(vaultOf(given.bytes.toString("utf8", from, to)) ?? "")));
  }

  #valueAt<T>(values: TextValues<T>, given: Bytes, slot: number): T | undefined {
    if (!this.#has(slot)) return undefined;
    return values.get(given, this.#from[slot] as number, this.#to[slot] as number);
  }

  #has(slot: number): boolean {
    return this.#from[slot] !== this.#to[slot];
  }
}

const isWordByte = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(/[\w.+-]/.test(String.fromCharCode(byte))),
);

/** A bare value that is written as it is read: an integer of few digits, true or false; or null. */
const plainWord = /^(?:0|[1-9]\d{0,14}|true|false|null)$/;

/**
 * Creates an item from the columns of a record, or returns why it is not one. Values stay as they
 * are, but the vault is the uuid in lower case, even if the value is a path that contains it.
 */
export function itemOf(
  fields: Fields,
  { columns, times }: Pick<Layout, "columns" | "times">,
): Item | string {
  const valueOf = (role: Role): string | undefined => {
    const text = fields.get(columns[role]?.name ?? "");
    return text !== undefined && role === "ip" ? bareAddress(text) : text;
  };
  const text = timeIn(fields, columns);
  if (text === "") return "no time";
  const at = times.parse(text);
  if (at === null) return `invalid time: ${clip(text)}`;
  if (valueOf("action") === undefined) return "no action";
  const texts = Object.fromEntries(roles.map((role) => [properties[role], valueOf(role)]));
  const named = [valueOf("vault"), valueOf("endpoint")].find((one = "") => !saysNothing(one));
  const vault = vaultOf(named ?? "");
  return defined({ ...texts, time: at, vault }) as unknown as Item;
}

/** Returns a vault value's uuid, else its text, in lower case; undefined for a path without one. */
export function vaultOf(value: string): string | undefined {
  const uuid = uuidOf(value);
  if (uuid !== null) return uuid;
  const text = value.trim().toLowerCase();
  // A path without a uuid names no vault (`POST /vault/credit-card/offline` creates one).
  return text.includes("/") ? (uuidInEndpoint(text) ?? undefined) : text === "" ? undefined : text;
}
