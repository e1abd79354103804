import { setImmediate } from "node:timers/promises";
import type { InputReport } from "../../documents/audit.ts";
import { VaultError } from "../../errors.ts";
import { type Choice, chooseColumns, type Given, timeIn } from "../columns/choose.ts";
import { looksLikeAddress, rankOf } from "../columns/looks.ts";
import { Entries, type TimeOrder } from "../fold/order.ts";
import { nameIn } from "../meaning/actions.ts";
import { outcomeOf } from "../meaning/words.ts";
import { textOf, viewOf } from "./bytes.ts";
import { isUuid } from "../../protocol/limits.ts";
import { grouped } from "../../terminal/count.ts";
import { clip, listed, listNames } from "./clip.ts";
import { type Fields, parse, unlike } from "./fields.ts";
import { Input, type InputSpec, pieceSize } from "./input.ts";
import type { Entry, EventKind, Item, ItemLocation, Role } from "./item.ts";
import { anyUuid, endOf, isAcknowledgement, properties, Skips } from "./item.ts";
import { ItemReader, itemOf, type Layout } from "./reader.ts";
import { type Cutter, longestRecord, type RawRecord, type Sink } from "./json.ts";
import { formOf } from "./table.ts";

/** What the entries of an input are made with. */
export interface EntryOptions extends Given, Omit<Layout, keyof Choice> {
  skips: Skips;
}

/** Number of records by which columns are recognized. */
const sampleSize = 1000;
/** Bytes after which fewer are enough: a record may be a megabyte. */
const sampleBytes = 8 * 1024 * 1024;

/** Passes all of an input through a cutter. Yields the number of bytes read, after each piece. */
function* passage(input: Input, cutter: Cutter): Generator<number> {
  const given = viewOf(Buffer.alloc(longestRecord + 2 * pieceSize));
  for (let [from, to, count] = [0, 0, 1]; count > 0; yield given.offset + to) {
    // What is left is the beginning of a record.
    given.bytes.copyWithin(0, from, to);
    given.offset += from;
    to -= from;
    count = input.read(given.offset + to, given.bytes, to, pieceSize);
    to += count;
    from = cutter.take(given, 0, to, count === 0);
  }
}

/** An input whose entries are read once, in its order. */
export class Source implements Sink {
  readonly input: Input;
  readonly report: InputReport;
  /** Its warnings say what may make all of it wrong, or was passed over, once all is read. */
  readonly layout: Layout;
  readonly reader: ItemReader | undefined;
  readonly #items: ItemReader;
  /** Whether items are in texts of records. */
  readonly #isText: boolean;
  readonly #skips: Skips;
  readonly #cutter: Cutter;
  #into = new Entries();
  /** Names of the lists that have items. */
  readonly #lists = new Set<string | undefined>();
  readonly #passedOver = new Map<string, number>();
  /** What was read again last. */
  readonly #block = { offset: 0, bytes: Buffer.alloc(0) };

  private constructor(
    input: Input,
    cutterOf: (sink: Sink) => Cutter,
    sample: readonly RawRecord[],
    options: EntryOptions,
  ) {
    this.input = input;
    this.#skips = options.skips;
    this.layout = { ...options, ...chooseColumns(sample, options, input.name) };
    for (const { list } of sample) this.#lists.add(list);
    this.#isText = sample.some(({ isText }) => isText);
    this.#cutter = cutterOf(this);
    this.#items = new ItemReader(this.layout, this.#cutter);
    this.reader = this.#isText ? undefined : this.#items;
    const format = options.columns === undefined ? this.#cutter.format : "journal";
    const { columns, times } = this.layout;
    const order = orderOf(sample.map(({ fields }) => times.parse(timeIn(fields, columns))));
    this.report = { name: input.name, format, order, items: 0, columns };
  }

  /**
   * Recognizes the format and the columns of an input that is open.
   *
   * @throws what `chooseColumns` throws, and `invalid-input` for an error in the place of items.
   */
  static async open(input: Input, options: EntryOptions): Promise<Source> {
    const sample: RawRecord[] = [];
    const record = (one: RawRecord) => void (sample.length < sampleSize && sample.push(one));
    const cutterOf = formOf(input.head, input.isWhole);
    const cutter = cutterOf({ record });
    if (options.columns === undefined)
      for (const bytes of passage(input, cutter)) {
        await setImmediate();
        if (sample.length === sampleSize || (sample.length > 0 && bytes >= sampleBytes)) break;
      }
    const isUnlike = sample.every(({ likeness }) => likeness === unlike);
    if (options.columns === undefined && isUnlike) refuseError(input);
    return new Source(input, cutterOf, likest(sample), options);
  }

  /**
   * Returns the item at a location.
   *
   * @throws `invalid-input` if its file has changed.
   */
  itemOf(location: ItemLocation): Item {
    const { offset, length } = location;
    const bytes = this.bytesOf(location);
    const fields = this.#cutter.fieldsOf(bytes, offset);
    const item = itemOf(fields.size > 0 ? fields : this.#items.fieldsOf(bytes), this.layout);
    if (bytes.length === length && typeof item !== "string") return item;
    throw new VaultError("invalid-input", `${this.input.name} changed while it was read`, {
      hint: "run it again",
    });
  }

  /**
   * Returns the bytes at a location, which are fewer if its file has changed. Reads so many, `most`,
   * if the next ones that are wanted are likely behind them.
   */
  bytesOf({ offset, length }: ItemLocation, most = length): Buffer {
    const block = this.#block;
    if (offset < block.offset || offset + length > block.offset + block.bytes.length) {
      const bytes = Buffer.allocUnsafe(Math.max(length, most));
      block.bytes = bytes.subarray(0, this.input.read(offset, bytes, 0, bytes.length));
      block.offset = offset;
    }
    return block.bytes.subarray(offset - block.offset).subarray(0, length);
  }

  /** Adds the entries in the input's order. Yields the number of bytes read, after each piece. */
  *read(into: Entries): Generator<number> {
    this.#into = into;
    yield* passage(this.input, this.#cutter);
    this.#end();
  }

  add(entry: Entry, list?: string): void {
    // A call without a vault: what else it names may be its vault.
    const isLock = entry.event === "lock" || entry.event === "lock-noted";
    if (entry.vault < 0 && (isLock || mayCount(entry.event))) {
      const text = textOf(this.bytesOf(entry));
      // None is accepted without a vault: in a spreadsheet, only the first row may name it.
      if (isAcknowledgement(entry.event) && !anyUuid.test(text))
        return this.skip(entry.line, "no vault's UUID", "");
      // Its own id is none, and not remembered: those of 100,000 calls would be too many.
      const { id = "" } = this.itemOf(entry);
      this.#skips.name(isUuid(id) ? text.replaceAll(id, "") : text, isLock ? entry.time : Infinity);
    }
    this.#into.push(entry);
    this.report.items += 1;
    this.#lists.add(list);
  }

  record({ line, list, doubt, fields, isText, given, from, to }: RawRecord): void {
    const item = itemOf(fields, this.layout);
    const text = (): string => [...fields.values()].join(" ");
    if (typeof item === "string") {
      const has = (role: Role): boolean => fields.has(this.layout.columns[role]?.name ?? "");
      const outcome = fields.get(this.layout.columns.outcome?.name ?? "") ?? "";
      const isRefused = has("time") && has("vault") && outcomeOf(outcome) === "bad";
      const isOther =
        isText === this.#isText
          ? list !== undefined && !this.#lists.has(list) && !has("action") && !isRefused
          : !anyUuid.test(text());
      if (isOther) this.passOver(list ?? "");
      else this.skip(line, doubt ?? item, text());
      return;
    }
    const entry = this.#items.complete(item, line, given, from, to);
    const isLacking = (): boolean => entry.vault < 0 && anyUuid.test(text());
    if (doubt !== undefined && (isLacking() || isShifted(item, entry, fields)))
      return this.skip(line, doubt, text());
    if (entry.vault < 0 && item.vault !== undefined) {
      // A call of a vault with a label, or a masked name; targets are also users, who log in.
      const { name = "" } = this.layout.columns.vault ?? {};
      const isOfVaults = rankOf("vault", name) < Infinity || nameIn(item.action) !== undefined;
      if (mayCount(entry.event) && isOfVaults)
        return this.skip(line, `no vault's UUID: ${clip(item.vault)}`, text());
      // What else names a vault may be about it.
      this.unread(text());
    }
    this.add(entry, list);
  }

  skip(line: number, reason: string, text: string, isCut = false): void {
    this.#skips.add({ input: this.layout.index, line, reason }, text);
    if (isCut) this.report.cutAt ??= line;
  }

  unread(text: string): void {
    this.#skips.name(text);
  }

  passOver(list: string): void {
    if (this.#passedOver.size < 20 || this.#passedOver.has(list))
      this.#passedOver.set(list, (this.#passedOver.get(list) ?? 0) + 1);
  }

  #end(): void {
    const { name, problem } = this.input;
    if (problem !== null) this.skip(this.#cutter.next, `${problem}: reading stopped`, "", true);
    if (this.#passedOver.size === 0 || this.report.items === 0) return;
    const lists = [...this.#passedOver].map(
      ([list, count]) => `${grouped(count)} in ${list === "" ? "a list" : listNames([list])}`,
    );
    this.layout.warnings.push(
      `${name}: what looks like no audit item was passed over: ${listed(lists)}.`,
    );
  }
}

/** Whether a cell seems to be missing in the middle, so that what is behind it is in the columns of others. */
function isShifted({ address = "::", outcome }: Item, { event }: Entry, fields: Fields): boolean {
  const isUnclear = outcome !== undefined && outcomeOf(outcome) === "unclear";
  return (
    (isUnclear && endOf(event) === "unclear") ||
    (!looksLikeAddress(address) && [...fields.values()].some(looksLikeAddress))
  );
}

/** Whether an event may count toward the lockout of its vault. */
const mayCount = (event: EventKind): boolean =>
  endOf(event) !== undefined && event !== "not-performed" && event !== "gone";

/** Name of what says why there are no items. */
const errorName = /(?:^|\.)(?:errors?|message|detail|title|reason|fault)(?:\.|$)/;

/** @throws `invalid-input` for an error in the place of items */
function refuseError({ name, head }: Input): void {
  const [, said] = [...parse(textOf(head)).fields].find(([key]) => errorName.test(key)) ?? [];
  if (said === undefined) return;
  throw new VaultError("invalid-input", `${name} holds no audit items but says ${clip(said)}`, {
    hint: "export the items again",
  });
}

/** Returns the records of the lists whose records look most like items. */
function likest(sample: readonly RawRecord[]): readonly RawRecord[] {
  const most = sample.reduce((best, { likeness }) => Math.max(best, likeness), unlike);
  const best = sample.filter(({ likeness }) => likeness === most);
  const lists = new Set(best.map(({ list }) => list));
  return sample.filter(({ list }) => lists.has(list));
}

function orderOf(given: readonly (number | null)[]): InputReport["order"] {
  const times = given.filter((time) => time !== null);
  const steps = times.slice(1).map((time, index) => Math.sign(time - (times[index] ?? time)));
  return steps.reduce((sum, step) => sum + step, 0) < 0 ? "newest-first" : "oldest-first";
}

export interface InputOptions {
  inputs: readonly InputSpec[];
  /** Items of this machine's journal, oldest first, instead of inputs. */
  journal?: Iterable<Item> | undefined;
}

export class Inputs {
  sources: Source[] = [];
  skips = new Skips();
  readonly #inputs: Input[] = [];

  /**
   * Opens the inputs and reads all items. Those of a single input, oldest first, pass on at once,
   * until one is late: then all are read again, by an order that holds them.
   *
   * @throws what opening and reading throw.
   */
  async read(
    { inputs, journal }: InputOptions,
    shared: Omit<EntryOptions, "index" | "skips">,
    { order, fold }: { order: TimeOrder; fold: { readonly isLate: boolean } },
  ): Promise<void> {
    const specs = journal === undefined ? inputs : [{ name: "journal", stream: linesOf(journal) }];
    const columns = journal && journalColumns;
    this.sources = [];
    this.skips = new Skips();
    for (const [index, spec] of specs.entries()) {
      const input = (this.#inputs[index] ??= new Input(spec));
      if (input.head.length === 0) await input.open();
      const options = { ...shared, index, columns, skips: this.skips };
      this.sources.push(await Source.open(input, options));
    }
    // The first of two duplicates counts: it should be from the input with more known columns.
    const known = ({ report }: Source): number => Object.keys(report.columns).length;
    for (const source of this.sources.toSorted((a, b) => known(b) - known(a))) {
      const isNewestFirst = source.report.order === "newest-first";
      order.begin(isNewestFirst);
      for (const _ of source.read(order)) {
        if (specs.length === 1 && !isNewestFirst) order.release(false);
        if (fold.isLate) return;
        // Handles signals.
        await setImmediate();
      }
      order.end();
    }
  }

  close(): void {
    for (const input of this.#inputs) input.close();
  }
}

const journalColumns = Object.fromEntries(
  Object.entries(properties).map(([role, name]) => [role, { name, by: "name" as const }]),
);

function* linesOf(journal: Iterable<Item>): Generator<Uint8Array> {
  for (const item of journal) yield Buffer.from(`${JSON.stringify(item)}\n`);
}
