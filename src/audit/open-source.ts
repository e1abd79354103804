import type { Classifier } from "./classify-item.ts";
import { FastLines } from "./fast-lines.ts";
import { openInput } from "./input.ts";
import type { Item, Skip } from "./item.ts";
import { ItemFeed, ItemFiler } from "./item-source.ts";
import type { ColumnMap } from "./parse-map.ts";
import { PlainSource } from "./plain-source.ts";
import { readItems } from "./read-items.ts";
import type { InputReport } from "./report.ts";
import { reversed } from "./reversed-source.ts";
import type { Source } from "./source.ts";
import type { VaultTable } from "./vault-table.ts";

/** An export: a file by its path, or a stream. */
export interface InputSpec {
  /** For messages. */
  name: string;
  path?: string;
  stream?: AsyncIterable<Uint8Array>;
}

/** What sources fill, and whom they tell. */
export interface SourceOptions {
  index: number;
  map: ColumnMap;
  vaults: VaultTable;
  classifier: Classifier;
  skip: (skip: Skip) => void;
}

/** Opens an export and recognises its form and its columns. Raises as `openInput` and `readItems`. */
export async function openSource(spec: InputSpec, options: SourceOptions): Promise<Source> {
  const { index, map, vaults, classifier, skip } = options;
  const input = await openInput({ name: spec.path ?? spec.name, ...(spec.stream === undefined ? {} : { stream: spec.stream }) });
  try {
    const { columns, order, items } = await readItems({ ...input, name: spec.name }, { index, map, skip });
    const report: InputReport = { name: spec.name, format: input.format, gzip: input.isGzip, order, items: 0, columns };
    const filer = new ItemFiler(vaults, classifier);
    const turned = (source: Source): Source => (order === "newest-first" ? reversed(source) : source);
    if (input.plainPath === null) {
      const feed = new ItemFeed(items, filer, index);
      const next: Source["next"] = async (batch) => await feed.next(batch);
      return turned({ report, next, bytesRead: () => input.bytesRead(), totalBytes: input.total, close: async () => await input.close() });
    }
    await input.close();
    const plain = new PlainSource(input.plainPath, index, columns, new FastLines(columns, vaults, classifier), filer, skip);
    return turned({
      report,
      next: async (batch) => await Promise.resolve(plain.next(batch)),
      find: (place, line) => plain.find(place, line),
      bytesRead: () => plain.bytesRead,
      totalBytes: input.total,
      close: async () => await Promise.resolve(plain.close()),
    });
  } catch (error) {
    await input.close();
    throw error;
  }
}

/** This machine's own journal. */
export function journalSource(journal: Iterable<Item>, { vaults, classifier, index }: SourceOptions): Source {
  const feed = new ItemFeed(inPieces(journal), new ItemFiler(vaults, classifier), index);
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
