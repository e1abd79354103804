import type { Fact, Truth, TruthItem, TruthVerdict, VaultTruth } from "./facts.ts";
import type { DialectName } from "./dialects.ts";
import { dialects } from "./dialects.ts";
import { LogFile, createForm } from "./files.ts";
import type { FormName } from "./files.ts";
import { Dice } from "../dice.ts";
import { AuditWorld } from "./world.ts";

/** A log of which the answers are known. Without disturbances it is in the order of time, and each item in it once. */
export interface LogOptions {
  seed?: string;
  items?: number;
  /** As many as there are, at most, in proportion to two million items with 20,000. */
  vaults?: number;
  /** Share of the vaults that end locked, at risk or with an exchange open. */
  problems?: number;
  /** Share of the other vaults that end with an exchange open. */
  open?: number;
  dialect?: DialectName;
  form?: FormName;
  gzip?: boolean;
  /** Days from the first item to the last one, about; at most 360. */
  days?: number;
  /** Items may be this many places too late: true is 1,000. */
  disorder?: number | boolean;
  /** Share of the items that are there twice, at once or up to 200 places (or `disorder`) later. */
  duplicates?: number;
  newestFirst?: boolean;
  /** Lines, or elements of an array, that are no items. */
  garbage?: number;
  /** Another item at the end, which was cut off. */
  cutOff?: boolean;
  byteOrderMark?: boolean;
  crlf?: boolean;
  /** Share of the items that happened before the log begins. */
  beginsAt?: number;
  /** With several files: items that are at the end of one and at the beginning of the next. */
  overlap?: number;
}

const firstMoment = Date.parse("2026-10-01T00:00:00.000Z");

function windowOf({ disorder = 0 }: LogOptions): number {
  return typeof disorder === "number" ? disorder : disorder ? 1000 : 0;
}

function worldOf(options: LogOptions): { world: AuditWorld; items: number } {
  const {
    seed = "vault",
    items = 2_000_000,
    problems = 0.1,
    open = 0,
    dialect = "sandbox",
    days = 30,
  } = options;
  const vaults = options.vaults ?? Math.max(1, Math.round(items / 100));
  const { recorded } = dialects[dialect];
  // Items of the same moment could not be put right.
  const ties = windowOf(options) === 0;
  return {
    items,
    world: new AuditWorld({
      seed,
      items,
      vaults,
      problems,
      open,
      recorded,
      from: firstMoment,
      days,
      ties,
    }),
  };
}

/** All that happens, in the order of time, what no export would show included, and what is true at its end. */
export function tellFacts(options: LogOptions): { facts: Iterable<Fact>; truths(): VaultTruth[] } {
  const { world } = worldOf(options);
  return { facts: world.facts(), truths: () => world.truths() };
}

/**
 * Writes a log to a file, or to several ones of about the same length, and returns what is true of it. Memory grows with the
 * vaults only, except with `newestFirst`, which keeps all items. The same options write the same bytes.
 */
export async function writeLog(
  path: string | readonly string[],
  options: LogOptions = {},
): Promise<Truth> {
  const paths = typeof path === "string" ? [path] : path;
  const { world, items } = worldOf(options);
  const dialect = dialects[options.dialect ?? "sandbox"];
  const form = createForm(options.form ?? "ndjson", dialect.columns);
  const {
    gzip = false,
    byteOrderMark = false,
    crlf = false,
    garbage = 0,
    newestFirst = false,
    overlap = 0,
  } = options;
  const files = paths.map(
    (each, part) => new LogFile(each, form, part, { gzip, byteOrderMark, crlf }),
  );
  const dice = new Dice(`${options.seed ?? "vault"} writing`);
  const before = Math.floor(items * (options.beginsAt ?? 0));
  const truth = emptyTruth(paths);
  const notes = new Map(world.truths().map((vault) => [vault.uuid, vault]));

  const total = items - before;
  const every = garbage === 0 ? Infinity : Math.max(1, Math.floor(total / (garbage + 1)));
  const put = async ({ text, mark }: Entry): Promise<void> => {
    const place = truth.written / (total + 1);
    files.forEach((file, part) => {
      const [begin, end] = [
        part / files.length,
        (part + 1) / files.length + (part === files.length - 1 ? 1 : overlap / total),
      ];
      if (place >= begin && place < end) file.write(text, mark);
    });
    truth.written += 1;
    const current = files[Math.min(files.length - 1, Math.floor(place * files.length))] as LogFile;
    if (truth.garbage.length < garbage && truth.written % every === 0)
      truth.garbage.push(current.write(dice.pick(form.garbage)));
    for (const file of files) await file.flush();
  };

  const shuffle = new Shuffle<Entry>(dice, {
    window: windowOf(options),
    duplicates: options.duplicates ?? 0,
  });
  const kept: Entry[] = [];
  let index = -before;
  let last = "";
  for (const fact of world.facts()) {
    if (!fact.recorded) continue;
    if (fact.mark !== null) fact.mark.index = index;
    index += 1;
    if (index <= 0) continue;
    note(truth, notes, fact);
    const text = form.item(dialect.show(fact, dice));
    last = text;
    for (const entry of shuffle.add({ text, mark: fact.mark })) {
      if (newestFirst) kept.push(entry);
      else await put(entry);
    }
  }
  for (const entry of shuffle.rest()) {
    if (newestFirst) kept.push(entry);
    else await put(entry);
  }
  for (const entry of kept.toReversed()) await put(entry);
  if (options.cutOff === true) truth.garbage.push((files.at(-1) as LogFile).write(form.cut(last)));
  for (const [part, file] of files.entries())
    await file.close(options.cutOff === true && part === files.length - 1);
  return concluded(truth, notes);
}

interface Entry {
  text: string;
  mark: TruthItem | null;
}

function emptyTruth(paths: readonly string[]): Truth {
  const verdicts: Record<TruthVerdict, number> = {
    locked: 0,
    "at-risk": 0,
    "open-exchange": 0,
    deleted: 0,
    ok: 0,
  };
  return {
    files: [...paths],
    items: 0,
    applicationItems: 0,
    written: 0,
    garbage: [],
    firstAt: 0,
    asOf: 0,
    vaults: new Map(),
    verdicts,
  };
}

/** What an item that is in the log adds to the truth. */
function note(truth: Truth, notes: Map<string, VaultTruth>, fact: Fact): void {
  truth.items += 1;
  if (truth.items === 1) truth.firstAt = fact.time;
  truth.asOf = fact.time;
  if (fact.what === "key-check") {
    truth.applicationItems += 1;
    return;
  }
  const vault = notes.get(fact.uuid ?? "");
  if (vault === undefined) return;
  if (fact.what === "create") vault.baselineKnown = true;
  if (vault.items === 0) vault.firstAt = fact.time;
  vault.items += 1;
  vault.lastAt = fact.time;
}

function concluded(truth: Truth, notes: Map<string, VaultTruth>): Truth {
  for (const vault of notes.values()) {
    if (vault.items === 0) continue;
    truth.vaults.set(vault.uuid, vault);
    truth.verdicts[vault.verdict] += 1;
  }
  return truth;
}

/** Brings a stream out of order, but never by more than a window, and lets some of it come twice. */
class Shuffle<T> {
  readonly #dice: Dice;
  readonly #window: number;
  readonly #duplicates: number;
  /** What leaves after so many more items; in a circle. */
  readonly #slots: T[][];
  #at = 0;

  constructor(dice: Dice, options: { window: number; duplicates: number }) {
    this.#dice = dice;
    this.#window = options.window;
    this.#duplicates = options.duplicates;
    this.#slots = Array.from(
      { length: Math.max(options.window, options.duplicates > 0 ? 200 : 0) + 1 },
      () => [],
    );
  }

  /** What leaves now. An item that waits is overtaken by as many others as it waits places, at most the window. */
  add(entry: T): readonly T[] {
    const dice = this.#dice;
    this.#put(this.#window > 0 && dice.chance(0.2) ? dice.between(1, this.#window) : 0, entry);
    if (this.#duplicates > 0 && dice.chance(this.#duplicates))
      this.#put(dice.chance(0.5) ? 0 : dice.between(1, this.#slots.length - 1), entry);
    return this.#take();
  }

  /** What has not left yet. */
  rest(): readonly T[] {
    return this.#slots.flatMap(() => this.#take());
  }

  #put(later: number, entry: T): void {
    this.#slots[(this.#at + later) % this.#slots.length]?.push(entry);
  }

  #take(): readonly T[] {
    const leaving = this.#slots[this.#at] ?? [];
    this.#slots[this.#at] = [];
    this.#at = (this.#at + 1) % this.#slots.length;
    return leaving;
  }
}
