import type { Batch } from "./batch.ts";
import type { Classifier } from "./columns/classify-item.ts";
import type { Item } from "./item.ts";
import type { ColumnMap } from "./columns/parse-map.ts";
import type { InputReport } from "../report/report.ts";
import type { Skips } from "./skips.ts";
import type { VaultTable } from "../fold/vault-table.ts";

/** An input as the replay reads it: batch after batch, in the order of the input. */
export interface Source {
  readonly report: InputReport;
  /** Adds the next items to the empty batch, if there are some already; false where there are none any more. */
  next(batch: Batch): Promise<boolean>;
  /** An item by its place, where it can be read a second time. */
  find?(place: number, line: number): Item;
  bytesRead(): number;
  readonly totalBytes: number | null;
  close(): Promise<void>;
}

/** What sources fill, and whom they tell. */
export interface SourceOptions {
  index: number;
  map: ColumnMap;
  vaults: VaultTable;
  classifier: Classifier;
  skips: Skips;
}
