import { parentPort, workerData } from "node:worker_threads";
import { VaultError } from "../../../errors.ts";
import { Batch, batchSize, columnsIn } from "../batch.ts";
import type { Counts } from "../columns/classify-item.ts";
import { Classifier } from "../columns/classify-item.ts";
import type { Columns, Skip } from "../item.ts";
import { PlainFile } from "./plain-file.ts";
import { PlainSource } from "./plain-source.ts";
import { Skips } from "../source.ts";
import { VaultTable } from "../../fold/vault-table.ts";

// Main file of the thread that reads a large file for threaded-source.ts.

/** What the thread reads. The file stays open until the thread ends. */
export interface ScanOrder {
  path: string;
  fd: number;
  index: number;
  columns: Columns;
  failure: RegExp | null;
  maxVaults: number;
}

/** Items of one piece of the file. */
export interface ScannedPiece {
  /** Columns of the batch, in the buffer that was sent to the thread. */
  columns: ArrayBuffer;
  /** Number of items. Their vaults have numbers of this thread. */
  size: number;
  /** Vaults that got the next numbers. */
  uuids: string[];
  skipped: { count: number; first: Skip[] };
  bytesRead: number;
  /** Null before the end of the file. */
  counts: Counts | null;
}

/** Why reading failed. */
export interface ScanFailure {
  error: Pick<VaultError, "code" | "message" | "facts">;
}

const order = workerData as ScanOrder;
const vaults = new VaultTable(order.maxVaults);
const classifier = new Classifier(order.failure);
let skips = new Skips();
const source = new PlainSource(new PlainFile(order.path, order.fd), order.columns, {
  index: order.index,
  vaults,
  classifier,
  skip: (skip) => skips.add(skip),
});

/** Maximum number of windows in a piece, for files with few items. Otherwise a piece fills at least half a batch. */
const windowsAtMost = 16;

function scan(columns: ArrayBuffer): ScannedPiece {
  const known = vaults.size;
  const batch = new Batch(batchSize, columnsIn(columns, batchSize));
  skips = new Skips();
  let isOpen = true;
  for (let window = 0; isOpen && window < windowsAtMost && batch.size < batchSize / 2; window++) isOpen = source.next(batch);
  const uuids = Array.from({ length: vaults.size - known }, (_, at) => vaults.uuid(known + at));
  const { others, unclear, former } = classifier;
  const { count, first } = skips;
  const counts = isOpen ? null : { others, unclear, former };
  return { columns, size: batch.size, uuids, skipped: { count, first }, bytesRead: source.bytesRead, counts };
}

function answer(columns: ArrayBuffer): ScannedPiece | ScanFailure {
  try {
    return scan(columns);
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    return { error: { code: error.code, message: error.message, facts: error.facts } };
  }
}

parentPort?.on("message", (columns: ArrayBuffer) => {
  const answered = answer(columns);
  parentPort?.postMessage(answered, "error" in answered ? [] : [answered.columns]);
  if ("error" in answered || answered.counts !== null) parentPort?.close();
});
