import { orAborted } from "../terminal/signals.ts";
import type { TimeOrder } from "./fold/order.ts";
import type { JournalItem } from "./read/item.ts";
import type { Skips } from "./read/skips.ts";
import type { InputSpec } from "./read/input.ts";
import type { EntryOptions, Source } from "./read/source.ts";
import { journalSource, openSource, readMerged } from "./read/source.ts";

export interface InputOptions {
  inputs: readonly InputSpec[];
  /** Items of this machine's journal, oldest first, instead of inputs. */
  journal?: Iterable<JournalItem> | undefined;
  progress?: (bytesRead: number, totalBytes: number | null, items: number) => void;
  signal: AbortSignal;
}

/** The inputs of a replay, which are read once, in order of time. */
export class Inputs {
  readonly sources: Source[] = [];
  readonly #options: InputOptions;

  constructor(options: InputOptions) {
    this.#options = options;
  }

  /**
   * Opens the inputs and reads all their items. `items` returns how many were taken, for the progress.
   *
   * @throws what `openSource` and reading throw, or the reason of an aborted signal.
   */
  async read(
    shared: Omit<EntryOptions, "index">,
    skips: Skips,
    order: TimeOrder,
    items: () => number,
  ): Promise<void> {
    const { inputs, journal, signal } = this.#options;
    if (journal !== undefined) this.sources.push(journalSource(journal, { ...shared, index: 0 }));
    for (const [index, spec] of inputs.entries()) {
      const opening = openSource(spec, { ...shared, index }, skips);
      this.sources.push(await unlessAborted(signal, opening));
    }
    await unlessAborted(signal, readMerged(this.sources, order, this.#progress(items)));
  }

  /** Closes the inputs, but after an abort does not wait: a read may be pending. */
  async close(): Promise<void> {
    const closing = Promise.all(this.sources.map(async (source) => await source.close()));
    if (this.#options.signal.aborted) closing.catch(() => undefined);
    else await closing;
  }

  #progress(items: () => number): () => void {
    const { progress } = this.#options;
    let next = bytesAtATime;
    const isSized = this.sources.every(({ totalBytes }) => totalBytes !== null);
    const total = isSized
      ? this.sources.reduce((sum, { totalBytes }) => sum + (totalBytes ?? 0), 0)
      : null;
    return () => {
      const read = this.sources.reduce((sum, source) => sum + source.bytesRead(), 0);
      if (read < next) return;
      next = read + bytesAtATime;
      progress?.(read, total, items());
    };
  }
}

/** Bytes after which progress is shown. */
const bytesAtATime = 4 * 1024 * 1024;

/**
 * Waits for work, but not after the signal is aborted: a read may wait for its input forever.
 *
 * @throws what the work throws, or the reason of an aborted signal.
 */
async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  try {
    return await orAborted(work, signal);
  } catch (error) {
    // An abort may surface as another error of the reader.
    throw signal.aborted ? (signal.reason as Error) : error;
  }
}
