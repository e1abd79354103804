import type { Certainty, ItemReference } from "../../../documents/audit.ts";
import type { Verdict } from "../../report/severity.ts";

/**
 * Part of a line. A string is the program's own; everything else may hold what somebody wrote into an item: the writer makes it safe, and
 * gives times its own form.
 */
export type Part =
  | string
  | { value: string }
  /** Text of a report, with values from items and times in ISO 8601 in it. */
  | { sentence: string }
  /** ISO 8601, UTC. */
  | { time: string }
  | { place: Pick<ItemReference, "input" | "line"> }
  | { verdict: Verdict }
  | { certainty: Certainty };

export type Line = readonly Part[];

/** A list of which a writer shows only the first entries. */
export interface Few<T> {
  shown: readonly T[];
  /** Number of the others. */
  more: number;
}

const longest = 8;

/** Keeps the first three entries and the last ones; `gap` stands for the others. */
export function shortened<T>(all: readonly T[], gap: (left: number) => T): readonly T[] {
  const left = all.length - longest + 1;
  return left <= 1 ? all : [...all.slice(0, 3), gap(left), ...all.slice(3 + left)];
}

/** Takes the first entries of `all`, of which `unlisted` more were not kept. */
export const few = <T>(all: readonly T[], most: number, unlisted = 0): Few<T> => ({
  shown: all.slice(0, most),
  more: Math.max(0, all.length - most) + unlisted,
});
