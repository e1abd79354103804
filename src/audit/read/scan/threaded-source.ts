import { on } from "node:events";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { VaultError } from "../../../errors.ts";
import { Batch, batchSize, columnBytes, columnsIn } from "../batch.ts";
import type { Columns } from "../item.ts";
import type { PlainFile } from "./plain-file.ts";
import type { ScannedPiece, ScanFailure, ScanOrder } from "./scan-thread.ts";
import type { SourceOptions } from "../source.ts";

/** The thread's main file: next to this one, as source or as built. */
const threadFile = join(import.meta.dirname, import.meta.filename.endsWith(".ts") ? "scan-thread.ts" : "scan-thread.cjs");

/** Number of buffers: one is read while others are filled. */
const buffers = 3;

/** Reads a large NDJSON file in another thread. */
export class ThreadedSource {
  readonly #options: SourceOptions;
  readonly #worker: Worker;
  readonly #answers: AsyncIterator<[ScannedPiece | ScanFailure]>;
  /** Vault numbers by those of the thread. */
  readonly #vaults: number[] = [];
  #hasEnded = false;
  bytesRead = 0;

  constructor(file: PlainFile, columns: Columns, options: SourceOptions) {
    this.#options = options;
    const { index, classifier, vaults } = options;
    const workerData: ScanOrder = { path: file.path, fd: file.fd, index, columns, failure: classifier.failure, maxVaults: vaults.limit };
    this.#worker = new Worker(threadFile, { workerData });
    this.#answers = on(this.#worker, "message") as AsyncIterator<[ScannedPiece | ScanFailure]>;
    for (let count = 0; count < buffers; count++) this.#fill(new ArrayBuffer(columnBytes(batchSize)));
  }

  /**
   * Implements `Source.next`.
   *
   * @throws what the thread threw.
   */
  async next(batch: Batch): Promise<boolean> {
    if (this.#hasEnded) return false;
    const { value } = (await this.#answers.next()) as { value: [ScannedPiece | ScanFailure] };
    const [answer] = value;
    if ("error" in answer) throw new VaultError(answer.error.code, answer.error.message, answer.error.facts);
    this.#take(answer, batch);
    return true;
  }

  /** Stops the thread, after which the file can be closed. */
  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #take({ columns, size, uuids, skipped, bytesRead, counts }: ScannedPiece, batch: Batch): void {
    const { vaults, skips, classifier } = this.#options;
    for (const uuid of uuids) this.#vaults.push(vaults.of(uuid));
    batch.addRange(new Batch(batchSize, columnsIn(columns, batchSize)), 0, size);
    for (let at = 0; at < size; at++) {
      const number = batch.vault[at] as number;
      if (number >= 0) batch.vault[at] = this.#vaults[number] as number;
    }
    skips.addAll(skipped);
    this.bytesRead = bytesRead;
    if (counts === null) return this.#fill(columns);
    classifier.addCounts(counts);
    this.#hasEnded = true;
  }

  #fill(columns: ArrayBuffer): void {
    this.#worker.postMessage(columns, [columns]);
  }
}
