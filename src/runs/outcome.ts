import type { VaultError } from "../errors.ts";

/** Why nothing is sent for a vault. */
export type SkipReason = "held" | "locked" | "guard" | "limited";

/** Why a vault is skipped, in words, and what helps. */
export const skipWords: Readonly<Record<SkipReason, { why: string; help: string }>> = {
  held: { why: "an exchange is held", help: "vault ack finishes it, --discard-pending drops it" },
  locked: {
    why: "the vault is locked, or gone",
    help: "an administrator can unlock it in the console",
  },
  guard: {
    why: "the lockout guard would refuse the start",
    help: "vault guard shows the counters and the way on",
  },
  limited: {
    why: "the number of its reads is limited",
    help: "another run with --out-dir or --exec keeps what they deliver",
  },
};

/** What became of a vault. `earlier`: before this command, in the same run; `stopped`: the command ended before its turn. */
export type Outcome =
  | { ok: true; earlier?: true }
  | { ok: false; error: VaultError }
  | { ok: false; skipped: SkipReason | "stopped" };
