import { VaultError } from "../../errors.ts";
import { Batch } from "./batch.ts";
import type { Source } from "./source.ts";

/** Maximum number of items in a newest-first input, all of which are held in memory. */
const maxHeld = 1_000_000;

/** Reverses a newest-first source. Its `next` throws `invalid-input` if the input is too long. */
export function reversed(source: Source): Source {
  const held: Batch[] = [];
  let isRead = false;

  async function readAll(): Promise<void> {
    isRead = true;
    const batch = new Batch();
    for (let count = 0; await source.next(batch); batch.clear()) {
      count += batch.size;
      if (count > maxHeld) throw tooLong(source.report.name);
      hold(batch);
    }
  }

  /** Copies the items of a batch, filling up held batches. */
  function hold(batch: Batch): void {
    let from = 0;
    while (from < batch.size) {
      let last = held.at(-1);
      if (last === undefined || last.isFull) held.push((last = new Batch()));
      const to = Math.min(batch.size, from + last.capacity - last.size);
      last.addRange(batch, from, to);
      from = to;
    }
  }

  return {
    ...source,
    next: async (batch) => {
      if (!isRead) await readAll();
      const last = held.pop();
      if (last === undefined) return false;
      const backwards = Uint32Array.from({ length: last.size }, (_, at) => last.size - 1 - at);
      batch.addRange(last, 0, last.size);
      batch.arrange(backwards);
      return true;
    },
  };
}

const tooLong = (name: string): VaultError =>
  new VaultError(
    "invalid-input",
    `${name} has its newest items first, and more than ${maxHeld.toLocaleString("en")} of them`,
    {
      hint: "export it oldest first, or as several files by time",
    },
  );
