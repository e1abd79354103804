import type { Batch } from "./batch.ts";
import type { Item } from "./item.ts";
import type { InputReport } from "./report.ts";

/** An input as the replay reads it: batch after batch, in the order of the input. */
export interface Source {
  readonly report: InputReport;
  /** Fills the empty batch with the next items; false where there are none any more. */
  next(batch: Batch): Promise<boolean>;
  /** An item by its place, where it can be read a second time. */
  find?(place: number, line: number): Item;
  bytesRead(): number;
  readonly totalBytes: number | null;
  close(): Promise<void>;
}
