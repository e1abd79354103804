import { defined } from "../../defined.ts";
import { findLine } from "./records/ndjson.ts";
import { openInput } from "./records/input.ts";
import type { Item } from "./item.ts";
import type { Batch } from "./batch.ts";
import { BatchWriter } from "./batch-writer.ts";
import { locationOf } from "./item.ts";
import { PlainFile } from "./scan/plain-file.ts";
import { PlainSource } from "./scan/plain-source.ts";
import { readItems } from "./read-items.ts";
import type { InputReport } from "../report/report.ts";
import { reversed } from "./reversed-source.ts";
import type { Source, SourceOptions } from "./source.ts";

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
  const input = await openInput({
    name: spec.path ?? spec.name,
    ...defined({ stream: spec.stream }),
  });
  try {
    const { columns, order, items } = await readItems(
      { ...input, name: spec.name },
      { index, map, skip: skips.add },
    );
    const report: InputReport = {
      name: spec.name,
      format: input.format,
      gzip: input.isGzip,
      order,
      items: 0,
      columns,
    };
    const turned = (source: Source): Source =>
      order === "newest-first" ? reversed(source) : source;
    if (input.plainPath === null || keepsItems) {
      const feed = new ItemFeed(items, new BatchWriter(vaults, classifier), index);
      const next: Source["next"] = async (batch) => await feed.next(batch);
      return turned({
        report,
        next,
        bytesRead: () => input.bytesRead(),
        totalBytes: input.total,
        close: async () => await input.close(),
      });
    }
    await input.close();
    const file = new PlainFile(input.plainPath);
    const plain = new PlainSource(file, columns, { ...options, skip: skips.add });
    return turned({
      report,
      next: async (batch) => await Promise.resolve(plain.next(batch)),
      find: (location, line) => findLine(file, columns, index, location, line),
      bytesRead: () => plain.bytesRead,
      totalBytes: input.total,
      close: async () => await Promise.resolve(file.close()),
    });
  } catch (error) {
    await input.close();
    throw error;
  }
}

/** Returns the items of this machine's journal as a source. */
export function journalSource(
  journal: Iterable<Item>,
  { vaults, classifier, index }: SourceOptions,
): Source {
  const feed = new ItemFeed(inPieces(journal), new BatchWriter(vaults, classifier), index);
  return {
    report: {
      name: "journal",
      format: "journal",
      gzip: false,
      order: "oldest-first",
      items: 0,
      columns: {},
    },
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
