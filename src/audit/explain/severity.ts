/** Worst first. */
export const verdicts = [
  "locked",
  "at-risk",
  "open-exchange",
  /** Some of its items were not understood. */
  "unknown",
  "deleted",
  "ok",
] as const;

export type Verdict = (typeof verdicts)[number];

/** Whether a verdict needs action. */
export const isProblem = (verdict: Verdict): boolean => verdict !== "deleted" && verdict !== "ok";
