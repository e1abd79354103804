/** Worst first. */
export const verdicts = ["locked", "at-risk", "open-exchange", "deleted", "ok"] as const;

export type Verdict = (typeof verdicts)[number];

/** Whether a verdict needs action. */
export const isProblem = (verdict: Verdict): boolean =>
  verdict === "locked" || verdict === "at-risk" || verdict === "open-exchange";
