import { Batch } from "./batch.ts";
import type { Source } from "./source.ts";

/** Takes the items of a batch from index `from` up to `to`, exclusive, in the order of the merged inputs. */
type TakeItems = (batch: Batch, from: number, to: number) => void;

interface Head {
  source: Source;
  batch: Batch;
  at: number;
}

/** Merges the sources by time. Awaits `pause` after each read. */
export async function readMerged(sources: readonly Source[], take: TakeItems, pause: () => Promise<void> | undefined): Promise<void> {
  // The first of two duplicates counts: it should come from the input with more recognized columns.
  const known = ({ report }: Source): number => Object.keys(report.columns).length;
  const heads: Head[] = sources.toSorted((a, b) => known(b) - known(a)).map((source) => ({ source, batch: new Batch(), at: 0 }));
  let open = heads;
  const refill = async (head: Head): Promise<void> => {
    head.batch.clear();
    head.at = 0;
    for (let isOpen = true; isOpen && head.batch.size === 0; await pause()) isOpen = await head.source.next(head.batch);
    if (head.batch.size === 0) open = open.filter((other) => other !== head);
    else head.source.report.items += head.batch.size;
  };
  for (const head of heads) await refill(head);
  while (open.length > 0) {
    const first = open.reduce((earliest, head) => (timeOf(head) < timeOf(earliest) ? head : earliest));
    const until = Math.min(...open.filter((head) => head !== first).map(timeOf));
    let to = first.at + 1;
    while (to < first.batch.size && (first.batch.time[to] as number) <= until) to += 1;
    take(first.batch, first.at, to);
    first.at = to;
    if (to === first.batch.size) await refill(first);
  }
}

const timeOf = ({ batch, at }: Head): number => batch.time[at] as number;
