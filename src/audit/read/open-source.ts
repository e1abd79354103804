import { availableParallelism } from "node:os";
import { defined } from "../../defined.ts";
import { findLine } from "./records/ndjson.ts";
import { openInput } from "./records/input.ts";
import type { Columns, Item } from "./item.ts";
import type { Batch } from "./batch.ts";
import { BatchWriter } from "./batch-writer.ts";
import { locationOf } from "./item.ts";
import { PlainFile } from "./scan/plain-file.ts";
import { PlainSource } from "./scan/plain-source.ts";
import { readItems } from "./read-items.ts";
import type { InputReport } from "../report/report.ts";
import { reversed } from "./reversed-source.ts";
import type { Source, SourceOptions } from "./source.ts";
import { ThreadedSource } from "./scan/threaded-source.ts";

/** An export: a file or a stream. */
export interface InputSpec {
  /** For messages. */
  name: string;
  path?: string;
  stream?: AsyncIterable<Uint8Array>;
}

/**
 * Opens an export and recognizes its format and columns.
 *
 * @throws what `openInput` and `readItems` throw.
 */
export async function openSource(spec: InputSpec, options: SourceOptions): Promise<Source> {
  const { index, map, vaults, classifier, skips, keepsItems } = options;
  const input = await openInput({ name: spec.path ?? spec.name, ...defined({ stream: spec.stream }) });
  try {
    const { columns, order, items } = await readItems({ ...input, name: spec.name }, { index, map, skip: skips.add });
    const report: InputReport = { name: spec.name, format: input.format, gzip: input.isGzip, order, items: 0, columns };
    const turned = (source: Source): Source => (order === "newest-first" ? reversed(source) : source);
    if (input.plainPath === null || keepsItems) {
      const feed = new ItemFeed(items, new BatchWriter(vaults, classifier), index);
      const next: Source["next"] = async (batch) => await feed.next(batch);
      return turned({ report, next, bytesRead: () => input.bytesRead(), totalBytes: input.total, close: async () => await input.close() });
    }
    await input.close();
    const file = new PlainFile(input.plainPath);
    const { next, bytesRead, close } = readPlain(file, input.total ?? 0, columns, options);
    return turned({
      report,
      next,
      find: (location, line) => findLine(file, columns, index, location, line),
      bytesRead,
      totalBytes: input.total,
      close: async () => {
        await close();
        file.close();
      },
    });
  } catch (error) {
    await input.close();
    throw error;
  }
}

/** File size in bytes from which a thread saves more time than it takes to start. */
const worthThread = 64_000_000;

/** Reads an NDJSON file. A thread reads a large one if a core is free, unless only one vault is wanted. */
function readPlain(file: PlainFile, size: number, columns: Columns, options: SourceOptions): Pick<Source, "next" | "bytesRead" | "close"> {
  const { index, vaults } = options;
  if (size >= worthThread && !vaults.hasOnlyOne && index + 1 < availableParallelism()) {
    const threaded = new ThreadedSource(file, columns, options);
    const next: Source["next"] = async (batch) => await threaded.next(batch);
    return { next, bytesRead: () => threaded.bytesRead, close: async () => await threaded.close() };
  }
  const plain = new PlainSource(file, columns, { ...options, skip: options.skips.add });
  const next: Source["next"] = async (batch) => await Promise.resolve(plain.next(batch));
  return { next, bytesRead: () => plain.bytesRead, close: async () => await Promise.resolve() };
}

/** Returns the items of this machine's journal as a source. */
export function journalSource(journal: Iterable<Item>, { vaults, classifier, index }: SourceOptions): Source {
  const feed = new ItemFeed(inPieces(journal), new BatchWriter(vaults, classifier), index);
  return {
    report: { name: "journal", format: "journal", gzip: false, order: "oldest-first", items: 0, columns: {} },
    next: async (batch) => await feed.next(batch),
    bytesRead: () => 0,
    totalBytes: null,
    close: async () => await Promise.resolve(),
  };
}

async function* inPieces(journal: Iterable<Item>): AsyncGenerator<Item[]> {
  let piece: Item[] = [];
  for (const item of journal) {
    if (piece.push(item) < 1000) continue;
    yield piece;
    piece = [];
  }
  yield await Promise.resolve(piece);
}

/** Fills batches from a sequence of items, which are kept. */
class ItemFeed {
  readonly #items: AsyncIterator<readonly Item[]>;
  readonly #writer: BatchWriter;
  readonly #input: number;
  #pending: readonly Item[] = [];
  #at = 0;
  #count = 0;

  constructor(items: AsyncIterable<readonly Item[]>, writer: BatchWriter, input: number) {
    this.#items = items[Symbol.asyncIterator]();
    this.#writer = writer;
    this.#input = input;
  }

  async next(batch: Batch): Promise<boolean> {
    while (!batch.isFull) {
      const item = this.#pending[this.#at++];
      if (item !== undefined) {
        this.#writer.addKept(batch, item, locationOf(this.#input, this.#count++));
        continue;
      }
      // Reading more may have to wait for the input.
      if (batch.size > 0) return true;
      const next = await this.#items.next();
      if (next.done === true) return false;
      this.#pending = next.value;
      this.#at = 0;
    }
    return true;
  }
}
