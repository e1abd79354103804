import type { InputReport } from "../../documents/audit.ts";
import { VaultError } from "../../errors.ts";
import { chooseColumns, type Given, timeIn } from "../columns/choose.ts";
import { uuidOf } from "../columns/values.ts";
import { contentHashOf, textOf, viewOf } from "./bytes.ts";
import { clip, listNames } from "./clip.ts";
import type { Fields } from "./fields.ts";
import { alike, anyUuid, likenessOf, parse, unlike, unwrapped } from "./fields.ts";
import { pieceSize } from "./gunzip.ts";
import type { InputSpec } from "./input.ts";
import { hasChanged, Input } from "./input.ts";
import { Entries, type TimeOrder } from "../fold/order.ts";
import type { Entry, Item, ItemLocation, JournalItem } from "./item.ts";
import { noEntry } from "./item.ts";
import type { Layout, Place } from "./reader.ts";
import { entryOf, ItemReader, itemOf } from "./reader.ts";
import { type Cutter, longestRecord, type RawRecord, type Sink } from "./records.ts";
import { cutterFor } from "./sniff.ts";
import type { Skips } from "./skips.ts";

/** What the entries of an input are made with. */
export interface EntryOptions extends Given, Pick<Layout, "index" | "vaults" | "classifier"> {}

/** An input whose entries are read once, in its order. */
export interface Source {
  readonly report: InputReport;
  /** What may make all of it wrong, or was passed over. Complete once everything is read. */
  readonly warnings: string[];
  /** Reads on, and adds entries in the order of the input, oldest first. Returns false once there are no more. */
  next(into: Entries): Promise<boolean>;
  /**
   * Returns the item at a location.
   *
   * @throws `invalid-input` if its file has changed.
   */
  itemOf(location: ItemLocation): Item;
  bytesRead(): number;
  readonly totalBytes: number | null;
  /** Says what the input is, if it has no items. */
  emptiness(): string;
  close(): Promise<void>;
}

/** Number of records by which columns are recognized. */
const sampleSize = 1000;
/** Maximum characters of all values in the sample: a single record may be a megabyte. */
const sampleLength = 8 * 1024 * 1024;
/** Number of lines, none of them a record, after which the input is given up. */
const maxSkips = 100_000;
/** Maximum number of records that are kept of a list without an item. */
const maxHeld = 1000;

/**
 * Opens an export and recognizes its format and columns.
 *
 * @throws what `openInput` and `chooseColumns` throw.
 */
export async function openSource(
  spec: InputSpec,
  options: EntryOptions,
  skips: Skips,
): Promise<Source> {
  const input = new Input(spec);
  try {
    const source = new Reading(await input.open(), options, skips);
    await source.open();
    return source;
  } catch (error) {
    await input.close();
    throw error;
  }
}

/** A record of the sample, or one that waits for the first item of its list. */
interface Held extends Place {
  fields: Fields;
  list: RawRecord["list"];
  hash: number;
  doubt: string | undefined;
}

class Reading implements Source, Sink {
  readonly report: InputReport;
  warnings: string[] = [];
  readonly totalBytes: number | null;
  readonly #input: Input;
  readonly #options: EntryOptions;
  readonly #skips: Skips;
  readonly #cutter: Cutter;
  #layout: Layout | undefined;
  /** The column whose texts are the items. */
  #wrapping: string | undefined;
  // The bytes at hand, and where the whole records in them end.
  readonly #given = viewOf(Buffer.alloc(longestRecord + 2 * pieceSize));
  #from = 0;
  #to = 0;
  #isEnd = false;
  offset = 0;
  reader: ItemReader | undefined;
  /** Where entries go. */
  #into = new Entries();
  /** All entries of an input that has the newest first. */
  #all: Entries | undefined;
  #isOver = false;
  #sample: Held[] = [];
  #sampleLength = 0;
  #skipped = 0;
  #firstSkip = "";
  /** The list of the last item, and all lists that have one. */
  #list: object | undefined;
  readonly #lists = new WeakSet<object>();
  /** Records of lists without an item so far, and their number. */
  readonly #waiting = new Map<object, Held[]>();
  #held = 0;
  readonly #passedOver = new Map<string, number>();
  /** Records without an item in the wrapping column. */
  #noise = 0;

  constructor(input: Input, options: EntryOptions, skips: Skips) {
    this.#input = input;
    this.#options = options;
    this.#skips = skips;
    this.#cutter = cutterFor(this, input.head, input.isWhole);
    this.totalBytes = input.total;
    const { name, isGzip: gzip } = input;
    this.report = {
      name,
      format: this.#cutter.format,
      gzip,
      order: "oldest-first",
      items: 0,
      columns: {},
    };
  }

  /** Reads the beginning and chooses the columns. */
  async open(): Promise<void> {
    while (this.#sample.length < sampleSize && this.#sampleLength < sampleLength)
      if (this.#skipped >= maxSkips || !(await this.#next())) break;
    const { name } = this.#input;
    if (this.#sample.length === 0 && this.#skipped >= maxSkips) {
      throw new VaultError(
        "invalid-input",
        `${name}: none of its first ${maxSkips} lines is an audit item`,
        {
          hint: `read as ${this.report.format}; ${this.#firstSkip}`,
        },
      );
    }
    const sample = likest(this.#sample);
    const said = sample.every(({ fields }) => likenessOf(fields) === unlike)
      ? errorIn(textOf(this.#input.head))
      : undefined;
    if (said !== undefined)
      throw new VaultError("invalid-input", `${name} holds no audit items but says ${clip(said)}`, {
        hint: "export the items again",
      });
    this.#wrapping = wrappingOf(sample);
    const records = sample.flatMap(({ fields }) => {
      const own = this.#unwrap(fields);
      return own === null ? [] : [{ fields: own }];
    });
    const { columns, times, warnings } = chooseColumns(
      records.slice(0, sampleSize),
      this.#options,
      name,
    );
    this.warnings = warnings;
    this.#layout = { ...this.#options, columns, times };
    this.report.columns = columns;
    this.report.order = orderOf(records.map(({ fields }) => times.parse(timeIn(fields, columns))));
    if (this.report.order === "newest-first") this.#all = new Entries();
  }

  itemOf({ offset, length }: ItemLocation): Item {
    const fields = this.#cutter.fieldsOf(this.#input.at(offset, length));
    const own = this.#unwrap(fields);
    const item = own === null ? "" : itemOf(own, this.#layout as Layout);
    if (typeof item === "string") throw hasChanged(this.#input.name);
    return item;
  }

  bytesRead(): number {
    return this.#input.bytesRead;
  }

  emptiness(): string {
    const { head, isWhole } = this.#input;
    const text = textOf(head).replaceAll("\0", "").trim();
    if (head.length === 0) return "it is empty";
    if (text === "") return "it holds nothing but blanks";
    const said = isWhole ? errorIn(text) : undefined;
    if (said !== undefined) return `it holds no items but says ${clip(said)}`;
    return this.report.format === "csv" || this.report.format === "tsv"
      ? "it has no rows below its header"
      : "it holds no items";
  }

  async close(): Promise<void> {
    await this.#input.close();
  }

  add(entry: Entry, list?: object): void {
    this.#into.push(entry);
    this.report.items += 1;
    if (list !== undefined && list !== this.#list) this.#begin(list);
  }

  record({ line, fields, list, doubt, given, from, to }: RawRecord): void {
    const hash = contentHashOf(given, from, to);
    const held: Held = {
      line,
      offset: this.offset + from,
      length: to - from,
      fields,
      list,
      doubt,
      hash,
    };
    if (this.#layout !== undefined) return this.#take(held, this.#layout);
    this.#sample.push(held);
    for (const value of fields.values()) this.#sampleLength += value.length;
  }

  skip(line: number, reason: string, text: string): void {
    if (this.#skipped === 0) this.#firstSkip = `line ${line}: ${reason}`;
    this.#skipped += 1;
    this.#skips.add({ input: this.#options.index, line, reason }, text);
  }

  unread(text: string): void {
    this.#skips.name(text);
  }

  cut(line: number): void {
    this.report.cutAt ??= line;
  }

  passOver(list: string, count: number): void {
    if (this.#passedOver.size < 20 || this.#passedOver.has(list))
      this.#passedOver.set(list, (this.#passedOver.get(list) ?? 0) + count);
  }

  async next(into: Entries): Promise<boolean> {
    const all = this.#all;
    if (all === undefined) return await this.#readOn(into);
    while (await this.#readOn(all)) if (all.count > maxNewestFirst) throw this.#tooManyNewest();
    all.popInto(into);
    return all.count > 0;
  }

  async #readOn(into: Entries): Promise<boolean> {
    if (this.#isOver) return false;
    const layout = this.#layout as Layout;
    this.#into = into;
    for (const held of this.#sample.splice(0)) this.#take(held, layout);
    if (this.#wrapping === undefined) this.reader ??= new ItemReader(layout, this.#cutter);
    if (await this.#next()) return true;
    this.#end();
    this.#isOver = true;
    return false;
  }

  #tooManyNewest(): VaultError {
    const most = maxNewestFirst.toLocaleString("en");
    return new VaultError(
      "invalid-input",
      `${this.#input.name} has its newest items first, and more than ${most} of them`,
      { hint: "have it exported oldest first, or as several files by time" },
    );
  }

  /** Reads the next bytes and takes the records in them. Returns false at the end. */
  async #next(): Promise<boolean> {
    if (this.#isEnd) return false;
    const { bytes } = this.#given;
    bytes.copyWithin(0, this.#from, this.#to);
    this.offset += this.#from;
    this.#to -= this.#from;
    const enough = this.#to + pieceSize;
    while (this.#to < enough && !this.#isEnd) {
      const taken = await this.#input.take(enough - this.#to);
      this.#isEnd = taken.length === 0;
      bytes.set(taken, this.#to);
      this.#to += taken.length;
    }
    this.#from = this.#cutter.take(this.#given, 0, this.#to, this.#isEnd);
    return true;
  }

  /** Returns the columns of the item in a record: its own, or those of the text that it wraps; null if there is none. */
  #unwrap(fields: Fields): Fields | null {
    return this.#wrapping === undefined ? fields : unwrapped(fields, this.#wrapping);
  }

  #take(held: Held, layout: Layout): void {
    const { line, list, hash, doubt } = held;
    const own = this.#unwrap(held.fields);
    const text = (): string => [...held.fields.values()].join(" ");
    if (own === null) {
      if (anyUuid.test(text()))
        this.skip(line, `no item in ${listNames([this.#wrapping ?? ""])}`, text());
      else if (held.fields.has(this.#wrapping ?? "")) this.#noise += 1;
      else this.passOver(list?.name ?? "", 1);
      return;
    }
    const item = itemOf(own, layout);
    if (typeof item !== "string") {
      const entry = entryOf(item, held, hash, layout);
      if (doubt !== undefined && entry.vault < 0 && anyUuid.test(text()))
        return this.skip(line, doubt, text());
      // The column of the vault holds something else: what the record names may be the vault.
      if (entry.vault < 0 && item.vault !== undefined && uuidOf(item.vault) === null)
        this.unread(text());
      this.add(entry, list);
    } else if (list === undefined || this.#lists.has(list) || this.#held >= maxHeld)
      this.skip(line, doubt ?? item, text());
    else {
      this.#held += 1;
      const others = this.#waiting.get(list);
      if (others === undefined) this.#waiting.set(list, [held]);
      else others.push(held);
    }
  }

  /** Notes that a list has an item: what is none in it could not be read. */
  #begin(list: object): void {
    this.#list = list;
    this.#lists.add(list);
    const waiting = this.#waiting.get(list) ?? [];
    this.#waiting.delete(list);
    this.#skipHeld(waiting);
  }

  #skipHeld(waiting: readonly Held[]): void {
    const layout = this.#layout as Layout;
    this.#held -= waiting.length;
    for (const { fields, line } of waiting) {
      const item = itemOf(fields, layout);
      this.skip(line, typeof item === "string" ? item : "", [...fields.values()].join(" "));
    }
  }

  #end(): void {
    const { columns } = this.#layout as Layout;
    const hasItems = this.report.items > 0;
    for (const [list, waiting] of this.#waiting) {
      // What has an action is an item that could not be read, in whatever list.
      const items = waiting.filter(({ fields }) => fields.has(columns.action?.name ?? ""));
      const unread = hasItems ? items : waiting;
      this.#skipHeld(unread);
      if (unread.length < waiting.length)
        this.passOver((list as { name: string }).name, waiting.length - unread.length);
    }
    const problem = this.#input.problem;
    if (problem !== null) {
      this.skip(this.#cutter.next, `${problem}: reading stopped`, "");
      this.cut(this.#cutter.next);
    }
    if (this.#noise > 0) this.passOver(this.#wrapping ?? "", this.#noise);
    if (this.#passedOver.size === 0 || !hasItems) return;
    const lists = [...this.#passedOver].map(
      ([list, count]) =>
        `${count.toLocaleString("en")} in ${list === "" ? "a list" : listNames([list])}`,
    );
    this.warnings.push(
      `${this.#input.name}: what looks like no audit item was passed over: ${lists.slice(0, 3).join(", ")}${lists.length > 3 ? ", …" : ""}.`,
    );
  }
}

/** Returns the records of the lists whose records look most like items. */
function likest(sample: readonly Held[]): readonly Held[] {
  const lists = new Map<object | undefined, number>();
  for (const { list, fields } of sample)
    if (lists.get(list) !== alike)
      lists.set(list, Math.max(lists.get(list) ?? 0, likenessOf(fields)));
  const most = Math.max(0, ...lists.values());
  return sample.filter(({ list }) => lists.get(list) === most);
}

/** Returns the column whose texts look more like items than the records that they are in, if there is one. */
function wrappingOf(sample: readonly Held[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { fields } of sample) {
    for (const [name, value] of fields) {
      if (!value.includes("{") && !/^\[\d+,/.test(value)) continue;
      const inner = unwrapped(new Map([[name, value]]), name);
      if (inner === null || likenessOf(inner) === unlike) continue;
      const outer = new Map(fields);
      outer.delete(name);
      if (likenessOf(outer) < likenessOf(inner)) counts.set(name, (counts.get(name) ?? 0) + 1);
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
function errorIn(text: string): string | undefined {
  const said = (value: unknown): string | undefined => {
    if (typeof value === "string") return value === "" ? undefined : value;
    if (typeof value !== "object" || value === null) return undefined;
    const inner = value as Record<string, unknown>;
    for (const name of ["error", "errors", "message", "detail", "title", "reason", "fault", "0"])
      if (Object.hasOwn(inner, name)) return said(inner[name]);
    return undefined;
  };
  return said(parse(text).value);
}

/** Returns the items of this machine's journal as a source. */
export function journalSource(journal: Iterable<JournalItem>, options: EntryOptions): Source {
  const report: InputReport = {
    name: "journal",
    format: "journal",
    gzip: false,
    order: "oldest-first",
    items: 0,
    columns: {},
  };
  const input = new Input({ name: "the journal", stream: textsOf(journal) });
  let offset = 0;
  return {
    report,
    warnings: [],
    next: async (into) => {
      for (let left = 1000; left > 0; left--) {
        const bytes = await input.take(longestRecord);
        if (bytes.length === 0) return false;
        const item = JSON.parse(bytes.toString()) as JournalItem;
        const place = { line: item.line, offset, length: bytes.length };
        const hash = contentHashOf(viewOf(bytes), 0, bytes.length);
        into.push(entryOf(item, place, hash, { ...options, columns: {} }));
        offset += bytes.length;
        report.items += 1;
      }
      return true;
    },
    itemOf: ({ offset: at, length }) => JSON.parse(input.at(at, length).toString()) as Item,
    bytesRead: () => 0,
    totalBytes: null,
    emptiness: () => "it is empty",
    close: async () => await input.close(),
  };
}

/** Yields each item as a chunk of its own. */
async function* textsOf(journal: Iterable<JournalItem>): AsyncGenerator<Uint8Array> {
  for (const item of journal) yield await Promise.resolve(Buffer.from(JSON.stringify(item)));
}

/** Maximum number of items in a newest-first input, all of which are held in memory. */
const maxNewestFirst = 1_000_000;

interface Head {
  source: Source;
  entries: Entries;
  at: number;
  isOpen: boolean;
}

/** Merges the sources by time. Calls `progress` after each read. */
export async function readMerged(
  sources: readonly Source[],
  order: TimeOrder,
  progress: () => void,
): Promise<void> {
  const [only, other] = sources;
  if (only !== undefined && other === undefined) {
    while (await only.next(order.entries)) {
      order.release(false);
      progress();
    }
    return;
  }
  // The first of two duplicates counts: it should come from the input with more recognized columns.
  const known = ({ report }: Source): number => Object.keys(report.columns).length;
  let heads = sources
    .toSorted((a, b) => known(b) - known(a))
    .map((source): Head => ({ source, entries: new Entries(), at: 0, isOpen: true }));
  const entry = { ...noEntry };
  for (;;) {
    for (const head of heads)
      for (; head.at === head.entries.count && head.isOpen; progress()) {
        head.entries.shift(head.at);
        head.at = 0;
        head.isOpen = await head.source.next(head.entries);
      }
    heads = heads.filter(({ at, entries }) => at < entries.count);
    const [first, second] = heads.toSorted((a, b) => timeOf(a) - timeOf(b));
    if (first === undefined) return;
    const until = second === undefined ? Number.POSITIVE_INFINITY : timeOf(second);
    do order.entries.push(first.entries.get(first.at++, entry));
    while (first.at < first.entries.count && timeOf(first) <= until);
    order.release(false);
  }
}

const timeOf = ({ entries, at }: Head): number => entries.timeAt(at);
