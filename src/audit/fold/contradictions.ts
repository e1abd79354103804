import type { Contradiction } from "../report/report.ts";
import type { DueItem } from "./time-order.ts";

/** A contradiction in the log, without its item and text. */
export interface FoundContradiction {
  kind: Contradiction["kind"];
  time: number;
  location: number;
  line: number;
}

/** Maximum number of contradictions listed for a vault. */
const maxListed = 20;

/** Contradictions in the log, by vault. */
export class Contradictions {
  readonly #found = new Map<number, { first: FoundContradiction[]; more: number }>();

  has(vault: number): boolean {
    return this.#found.has(vault);
  }

  of(vault: number): Readonly<{ first: readonly FoundContradiction[]; more: number }> {
    return this.#found.get(vault) ?? { first: [], more: 0 };
  }

  /** Adds a contradiction. Returns false if it is counted only. */
  add({ vault, time, location, line }: DueItem, kind: FoundContradiction["kind"]): boolean {
    const known = this.#found.get(vault) ?? { first: [], more: 0 };
    this.#found.set(vault, known);
    if (known.first.length === maxListed) {
      known.more += 1;
      return false;
    }
    known.first.push({ kind, time, location, line });
    return true;
  }
}
