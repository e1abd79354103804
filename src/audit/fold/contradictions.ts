import type { Contradiction } from "../report/report.ts";
import type { Due } from "./time-order.ts";

/** A contradiction of the log, in short. */
export interface FoundContradiction {
  kind: Contradiction["kind"];
  time: number;
  place: number;
  line: number;
}

/** Of a vault, so many are listed. */
const mostListed = 20;

/** What the log says of a vault that cannot all be so. */
export class Contradictions {
  readonly #found = new Map<number, { first: FoundContradiction[]; more: number }>();

  has(vault: number): boolean {
    return this.#found.has(vault);
  }

  of(vault: number): Readonly<{ first: readonly FoundContradiction[]; more: number }> {
    return this.#found.get(vault) ?? { first: [], more: 0 };
  }

  /** False for one too many to be listed. */
  add({ vault, time, place, line }: Due, kind: FoundContradiction["kind"]): boolean {
    const known = this.#found.get(vault) ?? { first: [], more: 0 };
    this.#found.set(vault, known);
    if (known.first.length === mostListed) {
      known.more += 1;
      return false;
    }
    known.first.push({ kind, time, place, line });
    return true;
  }
}
