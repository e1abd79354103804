import { closeSync, openSync, readSync } from "node:fs";
import { defined } from "../../defined.ts";
import type { InputReport } from "../../documents/audit.ts";
import { VaultError } from "../../errors.ts";
import type { EntryOptions } from "./entries.ts";
import { entryOf } from "./entries.ts";
import type { Entry, Item, ItemLocation, Skip } from "./item.ts";
import { readEntries } from "./read-entries.ts";
import { openInput } from "./records/input.ts";
import { longestRecord } from "./records/lines.ts";
import { itemOfLine } from "./records/ndjson.ts";
import type { SkipLine } from "./records/record.ts";

/** An export: a file or a stream. */
export interface InputSpec {
  /** For messages. */
  name: string;
  path?: string;
  stream?: AsyncIterable<Uint8Array>;
}

/** An input whose entries are read once, in its order. */
export interface Source {
  readonly report: InputReport;
  /** What may make all of it wrong, or was passed over. Complete once everything is read. */
  readonly warnings: string[];
  readonly entries: AsyncGenerator<Entry[], void, undefined>;
  /**
   * Returns the item at a location.
   *
   * @throws `invalid-input` if its file has changed.
   */
  itemOf(location: ItemLocation): Item;
  bytesRead(): number;
  readonly totalBytes: number | null;
  close(): Promise<void>;
}

/** Maximum number of lines listed. */
const maxListed = 100;

/** Maximum number of uuids remembered of lines that could not be read. */
const maxUuids = 100_000;

const anyUuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;

/** Lines that are not items: their number, the first ones, and the uuids that they name. */
export class Skips {
  count = 0;
  readonly #first: Skip[] = [];
  readonly #uuids = new Map<string, number>();

  /** Sorted by input and line: inputs are read ahead, so lines are not added in order. */
  get first(): Skip[] {
    return this.#first.toSorted((a, b) => a.input - b.input || a.line - b.line);
  }

  /** `text`: what could not be read. */
  add(skip: Skip, text = ""): void {
    this.count += 1;
    if (this.#first.length < maxListed) this.#first.push(skip);
    for (const [found] of text.matchAll(anyUuid)) {
      const uuid = found.toLowerCase();
      const known = this.#uuids.get(uuid);
      if (known !== undefined || this.#uuids.size < maxUuids)
        this.#uuids.set(uuid, (known ?? 0) + 1);
    }
  }

  /** Returns how many times such lines name a uuid, in lower case. Beyond a limit they may name any. */
  unreadOf(uuid: string): number {
    return this.#uuids.get(uuid) ?? (this.#uuids.size < maxUuids ? 0 : 1);
  }
}

/**
 * Opens an export and recognizes its format and columns.
 *
 * @throws what `openInput` and `readEntries` throw.
 */
export async function openSource(
  spec: InputSpec,
  options: EntryOptions,
  skips: Skips,
): Promise<Source> {
  const { name, path = name, stream } = spec;
  const input = await openInput({ name: path, ...defined({ stream }) });
  try {
    const { format, isGzip: gzip } = input;
    const skip: SkipLine = (line, reason, isCut = false, text = "") => {
      skips.add({ input: options.index, line, reason }, text);
      if (isCut) report.cutAt ??= line;
    };
    const { columns, times, warnings, order, entries } = await readEntries(
      { ...input, name },
      options,
      skip,
    );
    const report: InputReport = { name, format, gzip, order, items: 0, columns };
    const found = new FoundLines(path);
    const itemOf = ({ content, input, line }: ItemLocation): Item => {
      if (typeof content === "object") return content;
      const text =
        typeof content === "string" ? Buffer.from(content, "latin1").toString() : found.at(content);
      const item = itemOfLine(text, columns, times, input, line, true);
      if ("reason" in item)
        throw new VaultError("invalid-input", `${path} changed while it was read`, {
          hint: "run it again",
        });
      return item;
    };
    return {
      itemOf,
      report,
      warnings,
      entries: order === "newest-first" ? reversed(entries, name) : entries,
      bytesRead: () => input.bytesRead(),
      totalBytes: input.total,
      close: async () => {
        found.close();
        await input.close();
      },
    };
  } catch (error) {
    await input.close();
    throw error;
  }
}

/** Returns the items of this machine's journal as a source. */
export function journalSource(journal: Iterable<Item>, options: EntryOptions): Source {
  return {
    report: {
      name: "journal",
      format: "journal",
      gzip: false,
      order: "oldest-first",
      items: 0,
      columns: {},
    },
    warnings: [],
    entries: journalEntries(journal, options),
    itemOf: ({ content }) => content as Item,
    bytesRead: () => 0,
    totalBytes: null,
    close: async () => await Promise.resolve(),
  };
}

async function* journalEntries(
  journal: Iterable<Item>,
  { vaults, classifier }: EntryOptions,
): Source["entries"] {
  let piece: Entry[] = [];
  for (const item of journal) {
    const { input: _input, line: _line, ...content } = item;
    if (piece.push(entryOf(item, JSON.stringify(content), vaults, classifier)) < 1000) continue;
    yield await Promise.resolve(piece);
    piece = [];
  }
  yield piece;
}

/** Maximum number of items in a newest-first input, all of which are held in memory. */
const maxHeld = 1_000_000;

/** Reverses the entries of a newest-first source. */
async function* reversed(entries: Source["entries"], name: string): Source["entries"] {
  const held: Entry[][] = [];
  let count = 0;
  for await (const some of entries) {
    count += some.length;
    if (count > maxHeld) {
      throw new VaultError(
        "invalid-input",
        `${name} has its newest items first, and more than ${maxHeld.toLocaleString("en")} of them`,
        { hint: "have it exported oldest first, or as several files by time" },
      );
    }
    held.push(some.toReversed());
  }
  for (let some = held.pop(); some !== undefined; some = held.pop()) yield some;
}

interface Head {
  source: Source;
  entries: Entry[];
  at: number;
}

/** Merges the sources by time. Calls `progress` after each read. */
export async function readMerged(
  sources: readonly Source[],
  take: (entry: Entry) => void,
  progress: () => void,
): Promise<void> {
  // The first of two duplicates counts: it should come from the input with more recognized columns.
  const known = ({ report }: Source): number => Object.keys(report.columns).length;
  const heads: Head[] = sources
    .toSorted((a, b) => known(b) - known(a))
    .map((source) => ({ source, entries: [], at: 0 }));
  let open = heads;
  const refill = async (head: Head): Promise<void> => {
    head.entries = [];
    head.at = 0;
    for (let isOpen = true; isOpen && head.entries.length === 0; progress()) {
      const next = await head.source.entries.next();
      if (next.done === true) isOpen = false;
      else head.entries = next.value;
    }
    if (head.entries.length === 0) open = open.filter((other) => other !== head);
    else head.source.report.items += head.entries.length;
  };
  for (const head of heads) await refill(head);
  while (open.length > 0) {
    const first = open.reduce((earliest, head) =>
      timeOf(head) < timeOf(earliest) ? head : earliest,
    );
    const until = Math.min(...open.filter((head) => head !== first).map(timeOf));
    const { entries } = first;
    let { at } = first;
    // Without another source, no time is compared: each would be an object of its own.
    do take(entries[at++] as Entry);
    while (at < entries.length && (open.length === 1 || (entries[at] as Entry).time <= until));
    first.at = at;
    if (at === entries.length) await refill(first);
  }
}

const timeOf = ({ entries, at }: Head): number => (entries[at] as Entry).time;

const newline = 0x0a;

/** Size of most lines in bytes, at most. */
const usual = 1024;

/** The lines of a file by their offsets, read again. It is opened at the first one. */
class FoundLines {
  readonly #path: string;
  /** Room for a line, used again. */
  readonly #room = Buffer.alloc(usual);
  #fd: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Returns the line at an offset.
   *
   * @throws `invalid-input` if the file cannot be read.
   */
  at(offset: number): string {
    for (let bytes = this.#room; ; bytes = Buffer.alloc(2 * bytes.length)) {
      const length = this.#read(bytes, offset);
      const end = bytes.indexOf(newline);
      if (end >= 0 && end < length) return bytes.toString("utf8", 0, end);
      if (length < bytes.length || length > longestRecord) return bytes.toString("utf8", 0, length);
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #read(bytes: Buffer, offset: number): number {
    try {
      this.#fd ??= openSync(this.#path, "r");
      return readSync(this.#fd, bytes, 0, bytes.length, offset);
    } catch (cause) {
      const { code = "unreadable" } = cause as NodeJS.ErrnoException;
      throw new VaultError("invalid-input", `cannot read ${this.#path}: ${code}`, { cause });
    }
  }
}
