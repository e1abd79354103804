import { setImmediate } from "node:timers/promises";
import { Entries, type TimeOrder } from "./fold/order.ts";
import { Input, type InputSpec } from "./read/input.ts";
import { type Item, noEntry, properties } from "./read/item.ts";
import { type EntryOptions, Skips, Source } from "./read/source.ts";

export interface InputOptions {
  inputs: readonly InputSpec[];
  /** Items of this machine's journal, oldest first, instead of inputs. */
  journal?: Iterable<Item> | undefined;
  progress?: (bytesRead: number, totalBytes: number | null, items: number) => void;
}

/** The inputs of a replay, which are read once, in order of time. */
export class Inputs {
  readonly sources: Source[] = [];
  readonly skips = new Skips();
  readonly #inputs: Input[] = [];

  /**
   * Opens the inputs and reads all their items.
   *
   * @throws what opening and reading throw.
   */
  async read(
    { inputs, journal, progress }: InputOptions,
    shared: Omit<EntryOptions, "index">,
    order: TimeOrder,
  ): Promise<void> {
    const specs = journal === undefined ? inputs : [{ name: "journal", stream: linesOf(journal) }];
    const columns = journal && journalColumns;
    for (const [index, spec] of specs.entries()) {
      const input = new Input(spec);
      this.#inputs.push(input);
      await input.open((bytes) => progress?.(bytes, null, 0));
      this.sources.push(await Source.open(input, { ...shared, index, columns }, this.skips));
    }
    const sum = (valueOf: (source: Source) => number): number =>
      this.sources.reduce((all, source) => all + valueOf(source), 0);
    const total = sum(({ input }) => input.size);
    await readMerged(this.sources, order, async () => {
      progress?.(
        sum(({ bytesRead }) => bytesRead),
        total,
        sum(({ report }) => report.items),
      );
      // Handles signals.
      await setImmediate();
    });
  }

  close(): void {
    for (const input of this.#inputs) input.close();
  }
}

/** Columns of the lines that the journal is written in. */
const journalColumns = Object.fromEntries(
  Object.entries(properties).map(([role, name]) => [role, { name, by: "name" as const }]),
);

function* linesOf(journal: Iterable<Item>): Generator<Uint8Array> {
  for (const item of journal) yield Buffer.from(`${JSON.stringify(item)}\n`);
}

/** A source with the entries that were read of it. */
interface Head {
  source: Source;
  entries: Entries;
  at: number;
  isOpen: boolean;
}

/** Merges the sources by time. Calls `progress` after each read. */
async function readMerged(
  sources: readonly Source[],
  order: TimeOrder,
  progress: () => Promise<void>,
): Promise<void> {
  const [only, other] = sources;
  if (only !== undefined && other === undefined) {
    while (only.next(order)) {
      order.release(false);
      await progress();
    }
    return;
  }
  // The first of two duplicates counts: it should come from the input with more recognized columns.
  const known = ({ report }: Source): number => Object.keys(report.columns).length;
  let heads = sources
    .toSorted((a, b) => known(b) - known(a))
    .map((source): Head => ({ source, entries: new Entries(), at: 0, isOpen: true }));
  const entry = { ...noEntry };
  for (;;) {
    for (const head of heads)
      for (; head.at === head.entries.count && head.isOpen; await progress()) {
        head.entries.shift(head.at);
        head.at = 0;
        head.isOpen = head.source.next(head.entries);
      }
    heads = heads.filter(({ at, entries }) => at < entries.count);
    const [first, second] = heads.toSorted((a, b) => timeOf(a) - timeOf(b));
    if (first === undefined) return;
    const until = second === undefined ? Number.POSITIVE_INFINITY : timeOf(second);
    do order.push(first.entries.get(first.at++, entry));
    while (first.at < first.entries.count && timeOf(first) <= until);
    order.release(false);
  }
}

const timeOf = ({ entries, at }: Head): number => entries.timeAt(at);
