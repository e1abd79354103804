import { Batch } from "./batch.ts";
import type { Source } from "./source.ts";

/** Told of each item of a batch, in the order in which the inputs, merged by time, have them. */
export type TakeItem = (batch: Batch, index: number) => void;

/** Reads all sources, the one with the earliest item first. `pause` is waited for after each batch. */
export async function readMerged(sources: readonly Source[], take: TakeItem, pause: () => Promise<void> | undefined): Promise<void> {
  const heads = sources.map((source) => ({ source, batch: new Batch(), at: 0 }));
  let open = heads;
  const refill = async (head: (typeof heads)[number]): Promise<void> => {
    head.batch.clear();
    head.at = 0;
    if (!(await head.source.next(head.batch))) open = open.filter((other) => other !== head);
    else head.source.report.items += head.batch.size;
    await pause();
  };
  for (const head of heads) await refill(head);
  while (open.length > 0) {
    const [first] = open;
    if (first !== undefined && open.length === 1) {
      for (; first.at < first.batch.size; first.at++) take(first.batch, first.at);
      await refill(first);
      continue;
    }
    const next = open.reduce((earliest, head) => (timeOf(head) < timeOf(earliest) ? head : earliest));
    take(next.batch, next.at++);
    if (next.at === next.batch.size) await refill(next);
  }
}

const timeOf = ({ batch, at }: { batch: Batch; at: number }): number => batch.time[at] as number;
