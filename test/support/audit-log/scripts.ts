import type { TruthVerdict, VaultTruth } from "./facts.ts";

/**
 * Lives of vaults, written by hand from section 3, 6 and 7 of the specification and from service-facts: 3 failed accesses in a
 * row lock; an accepted start zeroes them and counts one without acknowledgement; the 5th of those in a row locks; an
 * acknowledgement zeroes both. The truth stands beside each ending; nothing computes it.
 *
 * R get-start · U update-start · S either · Q the start that is one too many: it locks · A the acknowledgement of the last start
 * F a failed access · G the failed access that locks · E an end call that is refused
 * D delete · X its expiryDate · V its uses are used up · L an administrator locks · N an administrator unlocks
 * Z a call that is refused because the vault is locked · K a failed key check that names the vault
 * `*`: of the chain that leads to the lock or the risk.
 */
export interface Step {
  letter: string;
  isChain: boolean;
}

export interface Part {
  script: string;
  weight: number;
  /** `console`: the export has items of locks and unlocks; `unseen`: it has none; `updates`: the vault can be updated. */
  needs?: "console" | "unseen" | "updates" | "offline";
  /** In quick succession. */
  quick?: boolean;
}

export interface Ending extends Part {
  verdict: TruthVerdict;
  rule?: NonNullable<VaultTruth["rule"]>;
  unackedStarts: number;
  failedAttempts: number;
  unlockedUnseen?: boolean;
}

/** What happens between the creation and the ending. Each begins and ends with both counters at zero. */
export const episodes: readonly Part[] = [
  { script: "R A", weight: 60 },
  { script: "U A", weight: 12, needs: "updates" },
  { script: "S A S A S A S A S A", weight: 3, quick: true },
  { script: "F S A", weight: 4 },
  { script: "F F S A", weight: 2 },
  { script: "S S A", weight: 2 },
  { script: "S S S A", weight: 1 },
  { script: "S S S S A", weight: 2 },
  { script: "S F A", weight: 1 },
  { script: "S F F A", weight: 1 },
  { script: "S F F S A", weight: 1 },
  { script: "F F S F F S F F S A", weight: 0.5 },
  { script: "F S F S F S F S F F A", weight: 0.5 },
  { script: "R U A", weight: 0.5, needs: "updates" },
  { script: "F K F S A", weight: 0.5 },
  { script: "F F K S A", weight: 0.5 },
  { script: "S E A", weight: 1 },
  { script: "S E E S E A", weight: 0.3 },
  { script: "F F G Z Z N S A", weight: 0.5, needs: "console" },
  { script: "S S S S Q Z N S A", weight: 0.3, needs: "console" },
  { script: "L Z N S A", weight: 0.3, needs: "console" },
];

const ok = (script: string, more: Partial<Ending> = {}): Ending => {
  return { script, weight: 1, verdict: "ok", unackedStarts: 0, failedAttempts: 0, ...more };
};
const ended = (
  verdict: TruthVerdict,
  unackedStarts: number,
  failedAttempts: number,
  script: string,
  more: Partial<Ending> = {},
): Ending => {
  return { script, weight: 1, verdict, unackedStarts, failedAttempts, ...more };
};
const failed = (unacked: number, script: string, more: Partial<Ending> = {}): Ending =>
  ended("locked", unacked, 3, script, { rule: "failed-attempts", ...more });
const unacked = (failures: number, script: string, more: Partial<Ending> = {}): Ending =>
  ended("locked", 5, failures, script, { rule: "unacknowledged-starts", ...more });

export const healthyEndings: readonly Ending[] = [
  ok("", { weight: 30 }),
  ok("F", { failedAttempts: 1, weight: 3 }),
  ok("S A F", { failedAttempts: 1 }),
  ok("F F G N", { needs: "console" }),
  ok("L N", { needs: "console" }),
];

export const deletedEndings: readonly Ending[] = [
  ended("deleted", 0, 0, "D", { weight: 3 }),
  ended("deleted", 0, 0, "F D"),
  ended("deleted", 0, 0, "S D"),
  ended("deleted", 0, 0, "R A V", { weight: 3, needs: "offline" }),
  ended("deleted", 0, 0, "X", { needs: "offline" }),
  ended("deleted", 0, 0, "S X", { needs: "offline" }),
  ended("deleted", 0, 0, "F F G X", { needs: "offline" }),
  ended("deleted", 0, 0, "F F G Z Z X", { needs: "offline" }),
];

export const unseenEndings: readonly Ending[] = [
  ok("F F G N S A"),
  ok("F F G Z Z N S A R A"),
  ok("S S S S Q N S A"),
  ended("open-exchange", 2, 0, "F F G N S S"),
  failed(0, "F F G N S A F* F* G*"),
  unacked(0, "F F G N S* S* S* S* Q*"),
].map((ending) => ({ ...ending, needs: "unseen", unlockedUnseen: true }) as const);

export const openEndings: readonly Ending[] = [
  ended("open-exchange", 1, 0, "S", { weight: 3 }),
  ended("open-exchange", 2, 0, "S S"),
  ended("open-exchange", 3, 0, "S S S"),
  ended("open-exchange", 1, 1, "S F"),
  ended("open-exchange", 3, 1, "S S F S F"),
  ended("open-exchange", 1, 0, "S E"),
  ended("open-exchange", 1, 0, "F F S"),
];

export const riskyEndings: readonly Ending[] = [
  ended("at-risk", 0, 2, "F* F*", { weight: 3 }),
  ended("at-risk", 1, 2, "S F* F*"),
  ended("at-risk", 0, 2, "F* K F*"),
  ended("at-risk", 2, 2, "F F S S F* F*"),
  ended("at-risk", 4, 0, "S* S* S* S*", { weight: 3 }),
  ended("at-risk", 4, 0, "F S* S* S* S*"),
  ended("at-risk", 4, 0, "S* F F S* F S* S*"),
  ended("at-risk", 4, 1, "S* S* S* S* F"),
  ended("at-risk", 4, 0, "S* E S* E S* E S*"),
];

export const lockedEndings: readonly Ending[] = [
  failed(0, "F* F* G*", { weight: 4 }),
  failed(0, "F* F* G* Z Z Z", { weight: 3 }),
  failed(1, "S F* F* G*"),
  failed(2, "S S F* F* G* Z"),
  failed(1, "F F S F* F* G*"),
  failed(2, "S F F S F* F* G*"),
  failed(4, "S S S S F* F* G*"),
  failed(0, "F* K F* K G*"),
  unacked(0, "S* S* S* S* Q*", { weight: 4 }),
  unacked(0, "S* S* S* S* Q* Z Z", { weight: 2 }),
  unacked(0, "F F S* S* S* S* Q*"),
  unacked(0, "S* F S* S* F F S* Q*"),
  unacked(0, "S* E S* S* S* F F Q*"),
  ended("locked", 0, 0, "L*", { needs: "console", rule: "administrator" }),
  ended("locked", 1, 0, "S L* Z", { needs: "console", rule: "administrator" }),
];

const parsed = new Map<string, readonly Step[]>();

export function stepsOf(script: string): readonly Step[] {
  const known = parsed.get(script);
  if (known !== undefined) return known;
  const steps = script.split(" ").filter((word) => word !== "");
  const made = steps.map((word) => ({ letter: word.charAt(0), isChain: word.endsWith("*") }));
  parsed.set(script, made);
  return made;
}
