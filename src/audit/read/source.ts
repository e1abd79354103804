import type { VaultTable } from "../fold/vault-table.ts";
import type { InputReport } from "../report/report.ts";
import { Batch } from "./batch.ts";
import type { Classifier } from "./columns/classify-item.ts";
import type { ColumnMap } from "./columns/parse-map.ts";
import type { Item, Skip } from "./item.ts";

/** An input that is read in batches, in its order. */
export interface Source {
  readonly report: InputReport;
  /** Adds the next items, if any are available, to an empty batch. Returns false at the end. */
  next(batch: Batch): Promise<boolean>;
  /** Reads an item again; absent if the input cannot be read twice. */
  find?(location: number, line: number): Item;
  bytesRead(): number;
  readonly totalBytes: number | null;
  close(): Promise<void>;
}

/** What all sources share, and the index of this one. */
export interface SourceOptions {
  index: number;
  map: ColumnMap;
  vaults: VaultTable;
  classifier: Classifier;
  skips: Skips;
  /** Whether batches hold the items themselves, also those of files that could be read again. */
  keepsItems: boolean;
}

/** Maximum number of lines listed. */
const maxListed = 100;

/** Lines that are not items: their number, and the first ones. */
export class Skips {
  count = 0;
  readonly #first: Skip[] = [];

  /** Sorted by input and line: inputs are read ahead, so lines are not added in order. */
  get first(): Skip[] {
    return this.#first.toSorted((a, b) => a.input - b.input || a.line - b.line);
  }

  readonly add = (skip: Skip): void => {
    this.count += 1;
    if (this.#first.length < maxListed) this.#first.push(skip);
  };
}

/** Takes the items of a batch from index `from` up to `to`, exclusive, in the order of the merged inputs. */
export type TakeItems = (batch: Batch, from: number, to: number) => void;

interface Head {
  source: Source;
  batch: Batch;
  at: number;
}

/** Merges the sources by time. Awaits `pause` after each read. */
export async function readMerged(
  sources: readonly Source[],
  take: TakeItems,
  pause: () => Promise<void> | undefined,
): Promise<void> {
  // The first of two duplicates counts: it should come from the input with more recognized columns.
  const known = ({ report }: Source): number => Object.keys(report.columns).length;
  const heads: Head[] = sources
    .toSorted((a, b) => known(b) - known(a))
    .map((source) => ({ source, batch: new Batch(), at: 0 }));
  let open = heads;
  const refill = async (head: Head): Promise<void> => {
    head.batch.clear();
    head.at = 0;
    for (let isOpen = true; isOpen && head.batch.size === 0; await pause())
      isOpen = await head.source.next(head.batch);
    if (head.batch.size === 0) open = open.filter((other) => other !== head);
    else head.source.report.items += head.batch.size;
  };
  for (const head of heads) await refill(head);
  while (open.length > 0) {
    const first = open.reduce((earliest, head) =>
      timeOf(head) < timeOf(earliest) ? head : earliest,
    );
    const until = Math.min(...open.filter((head) => head !== first).map(timeOf));
    let to = first.at + 1;
    while (to < first.batch.size && (first.batch.time[to] as number) <= until) to += 1;
    take(first.batch, first.at, to);
    first.at = to;
    if (to === first.batch.size) await refill(first);
  }
}

const timeOf = ({ batch, at }: Head): number => batch.time[at] as number;
