import type { Batch } from "./batch.ts";
import type { Classifier } from "./columns/classify-item.ts";
import type { Item } from "./item.ts";
import type { ColumnMap } from "./columns/parse-map.ts";
import type { InputReport } from "../report/report.ts";
import type { Skips } from "./skips.ts";
import type { VaultTable } from "../fold/vault-table.ts";

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
}
