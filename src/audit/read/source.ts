import type { Columns, InputReport } from "../../documents/audit.ts";
import { VaultError } from "../../errors.ts";
import { chooseColumns, type Given, timeIn } from "../columns/choose.ts";
import { TimeReader } from "../columns/times.ts";
import { uuidOf } from "../columns/values.ts";
import { Entries } from "../fold/order.ts";
import { contentHashOf, textOf, viewOf } from "./bytes.ts";
import { grouped } from "../../terminal/count.ts";
import { clip, listed, listNames } from "./clip.ts";
import type { Fields } from "./fields.ts";
import { anyUuid, likenessOf, parse, unlike, unwrapped } from "./fields.ts";
import { pieceSize } from "./gunzip.ts";
import { hasChanged, type Input } from "./input.ts";
import { type Entry, type Item, type ItemLocation, noEntry, type Skip } from "./item.ts";
import { ItemReader, itemOf, type Layout } from "./reader.ts";
import { type Cutter, type List, longestRecord, type RawRecord, type Sink } from "./json.ts";
import { cutterFor } from "./table.ts";

/** What the entries of an input are made with. */
export interface EntryOptions extends Given, Pick<Layout, "index" | "vaults" | "classifier"> {
  /** Columns of this machine's journal, which are not looked for. */
  columns?: Columns | undefined;
}

/** Number of records by which columns are recognized. */
const sampleSize = 1000;
/** Bytes after which fewer are enough: a record may be a megabyte. */
const sampleBytes = 8 * 1024 * 1024;

/** A record with the place of its entry: one of the sample has no meaning yet. */
interface Held extends RawRecord {
  entry: Entry;
}

/** An input whose entries are read once, in its order. */
export class Source implements Sink {
  readonly input: Input;
  readonly report: InputReport;
  /** What may make all of it wrong, or was passed over. Complete once everything is read. */
  warnings: string[] = [];
  readonly #options: EntryOptions;
  readonly #skips: Skips;
  readonly #cutter: Cutter;
  #layout: Layout;
  /** The column whose texts are the items. */
  #wrapping: string | undefined;
  // The bytes at hand, and where the whole records in them end.
  readonly #given = viewOf(Buffer.alloc(longestRecord + 2 * pieceSize));
  #from = 0;
  #to = 0;
  #isEnd = false;
  offset = 0;
  #items: ItemReader;
  reader: ItemReader | undefined;
  #isSampling = true;
  readonly #sample: Held[] = [];
  /** Where entries go. */
  #into = new Entries();
  /** All entries of an input that has the newest first, once it is read. */
  #all: Entries | undefined;
  readonly #passedOver = new Map<string, number>();

  private constructor(input: Input, options: EntryOptions, skips: Skips) {
    this.input = input;
    this.#options = options;
    this.#skips = skips;
    this.#cutter = cutterFor(this, input.head, input.isWhole);
    const { columns = {} } = options;
    this.#layout = { ...options, columns, times: new TimeReader() };
    this.#items = new ItemReader(this.#layout, this.#cutter);
    this.report = {
      name: input.name,
      format: options.columns === undefined ? this.#cutter.format : "journal",
      gzip: input.isGzip,
      order: "oldest-first",
      items: 0,
      columns: {},
    };
  }

  /**
   * Reads the beginning, and recognizes the format and the columns.
   *
   * @throws what `Input.open` and `chooseColumns` throw.
   */
  static async open(input: Input, options: EntryOptions, skips: Skips): Promise<Source> {
    const source = new Source(await input.open(), options, skips);
    const sample = source.#sample;
    while (!source.isFull && (sample.length === 0 || source.offset < sampleBytes))
      if (!(await source.#read())) break;
    source.#isSampling = false;
    if (options.columns === undefined) source.#choose(likest(sample));
    if (source.#wrapping === undefined) source.reader = source.#items;
    return source;
  }

  #choose(sample: readonly Held[]): void {
    const { name, head } = this.input;
    const isUnlike = sample.every(({ likeness }) => likeness === unlike);
    const said = isUnlike ? errorIn(textOf(head)) : undefined;
    if (said !== undefined)
      throw new VaultError("invalid-input", `${name} holds no audit items but says ${clip(said)}`, {
        hint: "export the items again",
      });
    for (const { list } of sample) if (list !== undefined) list.isOfItems = true;
    this.#wrapping = wrappingOf(sample);
    const records = sample.flatMap(({ fields }) => {
      const own = this.#unwrap(fields);
      return own === null ? [] : [{ fields: own }];
    });
    const choice = chooseColumns(records.slice(0, sampleSize), this.#options, name);
    const { columns, times } = choice;
    this.warnings = choice.warnings;
    this.#layout = { ...this.#layout, columns, times };
    this.#items = new ItemReader(this.#layout, this.#cutter);
    this.report.columns = columns;
    this.report.order = orderOf(records.map(({ fields }) => times.parse(timeIn(fields, columns))));
  }

  /**
   * Returns the item at a location.
   *
   * @throws `invalid-input` if its file has changed.
   */
  itemOf({ offset, length }: ItemLocation): Item {
    const own = this.#unwrap(this.#cutter.fieldsOf(this.input.at(offset, length)));
    const item = own === null ? "" : itemOf(own, this.#layout);
    if (typeof item === "string") throw hasChanged(this.input.name);
    return item;
  }

  /** Says what the input is, if it has no items. */
  emptiness(): string {
    const text = textOf(this.input.head).replaceAll("\0", "");
    if (text.trim() === "") return text === "" ? "it is empty" : "it holds nothing but blanks";
    const isTable = /^[ct]sv$/.test(this.report.format);
    return isTable ? "it has no rows below its header" : "it holds no items";
  }

  /** Reads on, and adds entries in the order of the input, oldest first. Returns false once there are no more. */
  async next(into: Entries): Promise<boolean> {
    if (this.report.order === "oldest-first") return await this.#next(into);
    if (this.#all === undefined) {
      this.#all = new Entries();
      while (await this.#next(this.#all));
    }
    this.#all.popInto(into);
    return this.#all.count > 0;
  }

  async #next(into: Entries): Promise<boolean> {
    this.#into = into;
    for (const held of this.#sample.splice(0)) this.#take(held);
    const hasMore = await this.#read();
    if (!hasMore) this.#end();
    return hasMore;
  }

  /** Reads the next bytes and takes the records in them. Returns false at the end. */
  async #read(): Promise<boolean> {
    if (this.#isEnd && this.#from === this.#to) return false;
    const { bytes } = this.#given;
    bytes.copyWithin(0, this.#from, this.#to);
    this.offset += this.#from;
    this.#to -= this.#from;
    const enough = this.#to + pieceSize;
    while (this.#to < enough && !this.#isEnd) {
      const taken = await this.input.take(enough - this.#to);
      this.#isEnd = taken.length === 0;
      bytes.set(taken, this.#to);
      this.#to += taken.length;
    }
    this.#from = this.#cutter.take(this.#given, 0, this.#to, this.#isEnd);
    return true;
  }

  /** The sample is held in memory, where a small record takes a hundred times its bytes. */
  get isFull(): boolean {
    return this.#isSampling && this.#sample.length >= sampleSize;
  }

  add(entry: Entry, list?: List): void {
    this.#into.push(entry);
    this.report.items += 1;
    if (list !== undefined) list.isOfItems = true;
  }

  record(record: RawRecord): void {
    const { line, given, from, to } = record;
    const entry = {
      ...noEntry,
      input: this.#options.index,
      line,
      offset: this.offset + from,
      length: to - from,
      idHash: contentHashOf(given, from, to),
    };
    const held = { ...record, entry };
    if (this.#isSampling) this.#sample.push(held);
    else this.#take(held);
  }

  skip(line: number, reason: string, text: string): void {
    this.#skips.add({ input: this.#options.index, line, reason }, text);
  }

  unread(text: string): void {
    this.#skips.name(text);
  }

  cut(line: number): void {
    this.report.cutAt ??= line;
  }

  passOver(list: string): void {
    if (this.#passedOver.size < 20 || this.#passedOver.has(list))
      this.#passedOver.set(list, (this.#passedOver.get(list) ?? 0) + 1);
  }

  /** Returns the columns of the item in a record: its own, or those of the text that it wraps; null if there is none. */
  #unwrap(fields: Fields): Fields | null {
    return this.#wrapping === undefined ? fields : unwrapped(fields, this.#wrapping);
  }

  #take(held: Held): void {
    const { line, list, doubt, fields, entry } = held;
    const own = this.#unwrap(fields);
    const text = (): string => [...fields.values()].join(" ");
    if (own === null) {
      const wrapping = this.#wrapping ?? "";
      if (anyUuid.test(text())) this.skip(line, `no item in ${listNames([wrapping])}`, text());
      else this.passOver(fields.has(wrapping) ? wrapping : (list?.name ?? ""));
      return;
    }
    const item = itemOf(own, this.#layout);
    if (typeof item !== "string") {
      this.#items.complete(entry, item);
      if (doubt !== undefined && entry.vault < 0 && anyUuid.test(text()))
        return this.skip(line, doubt, text());
      // The column of the vault holds something else: what the record names may be the vault.
      if (entry.vault < 0 && item.vault !== undefined && uuidOf(item.vault) === null)
        this.unread(text());
      this.add(entry, list);
    } else if (
      list === undefined ||
      list.isOfItems === true ||
      own.has(this.#layout.columns.action?.name ?? "")
    )
      this.skip(line, doubt ?? item, text());
    else this.passOver(list.name);
  }

  #end(): void {
    const { name, problem } = this.input;
    if (problem !== null) {
      this.skip(this.#cutter.next, `${problem}: reading stopped`, "");
      this.cut(this.#cutter.next);
    }
    if (this.#passedOver.size === 0 || this.report.items === 0) return;
    const lists = [...this.#passedOver].map(
      ([list, count]) => `${grouped(count)} in ${list === "" ? "a list" : listNames([list])}`,
    );
    this.warnings.push(`${name}: what looks like no audit item was passed over: ${listed(lists)}.`);
  }
}

/** Returns the records of the lists whose records look most like items. */
function likest(sample: readonly Held[]): readonly Held[] {
  const most = sample.reduce((best, { likeness }) => Math.max(best, likeness), unlike);
  const best = sample.filter(({ likeness }) => likeness === most);
  const lists = new Set(best.map(({ list }) => list));
  return sample.filter(({ list }) => lists.has(list));
}

/** Returns the column whose texts look more like items than the records that they are in, if there is one. */
function wrappingOf(sample: readonly Held[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { fields } of sample) {
    for (const [name, value] of fields) {
      if (!value.includes("{") && !/^\[\d+,/.test(value)) continue;
      const inner = unwrapped(new Map([[name, value]]), name);
      const likeness = inner === null ? unlike : likenessOf(inner);
      if (likeness === unlike) continue;
      const outer = new Map(fields);
      outer.delete(name);
      if (likenessOf(outer) < likeness) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0];
}

/** Returns `newest-first` if more neighbors go back in time than forward. */
function orderOf(given: readonly (number | null)[]): InputReport["order"] {
  const times = given.filter((time) => time !== null);
  const steps = times.slice(1).map((time, index) => Math.sign(time - (times[index] ?? time)));
  return steps.reduce((sum, step) => sum + step, 0) < 0 ? "newest-first" : "oldest-first";
}

/** Returns the error that a JSON object tells of. */
const errorIn = (text: string): string | undefined =>
  [...parse(text).fields].find(([name]) => errorName.test(name))?.[1];

const errorName = /(?:^|\.)(?:errors?|message|detail|title|reason|fault)(?:\.|$)/;

/** Maximum number of lines listed. */
const maxListed = 100;

/** Maximum number of uuids remembered of lines that could not be read. */
const maxUuids = 100_000;

const everyUuid = new RegExp(anyUuid, "gi");

/** Lines that are not items: their number, the first ones, and the uuids that they name. */
export class Skips {
  count = 0;
  readonly #first: Skip[] = [];
  readonly #uuids = new Set<string>();

  /** Sorted by input and line: inputs are read ahead, so lines are not added in order. */
  get first(): Skip[] {
    return this.#first.toSorted((a, b) => a.input - b.input || a.line - b.line);
  }

  /** `text`: what could not be read. */
  add(skip: Skip, text: string): void {
    this.count += 1;
    if (this.#first.length < maxListed) this.#first.push(skip);
    this.name(text);
  }

  /** Notes what a text names that could not be read. */
  name(text: string): void {
    for (const [uuid] of text.matchAll(everyUuid))
      if (this.#uuids.size < maxUuids) this.#uuids.add(uuid.toLowerCase());
  }

  /** Whether such lines name a uuid, in lower case. Beyond a limit they may name any. */
  mayName(uuid: string): boolean {
    return this.#uuids.has(uuid) || this.#uuids.size === maxUuids;
  }
}
