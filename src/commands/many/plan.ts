import type { VaultNames } from "../../cli/vault-name.ts";
import type { Policy } from "../../exchange/context.ts";
import { toSettle } from "../../exchange/end/settle.ts";
import { judge } from "../../exchange/lockout.ts";
import type { RunExchange, VaultSummary } from "../../exchange/records.ts";
import type { Operation } from "../../protocol/endpoints.ts";
import { VaultError } from "../../errors.ts";
import type { Entry, SkipReason } from "./entry.ts";

/** What is to be done with the entries of a list. */
export interface Plan {
  todo: Entry[];
  /** Acknowledged in the same run before. */
  earlier: Entry[];
  skipped: { entry: Entry; reason: SkipReason }[];
}

interface Choice {
  operation: Operation;
  discardPending: boolean;
  policy: Policy;
  /** Whether the contents of limited vaults reach somebody who keeps them. */
  takesLimited: boolean;
  /** By `Clock.now`. */
  now: number;
}

/** Sorts the entries by what the state knows of their vaults. */
export function planOf(
  entries: readonly Entry[],
  known: Pick<VaultNames<VaultSummary>, "vault">,
  begun: ReadonlyMap<string, RunExchange>,
  choice: Choice,
): Plan {
  const plan: Plan = { todo: [], earlier: [], skipped: [] };
  for (const entry of entries) {
    const uuid = entry.uuid.toLowerCase();
    const state = begun.get(uuid)?.state;
    const reason = state === "acknowledged" ? null : whySkipped(known.vault(uuid), choice);
    if (state === "acknowledged") plan.earlier.push(entry);
    else if (reason === null) plan.todo.push(entry);
    else plan.skipped.push({ entry, reason });
  }
  return plan;
}

function whySkipped(vault: VaultSummary | undefined, choice: Choice): SkipReason | null {
  if (vault === undefined) return null;
  if (vault.lastError === "locked" || vault.lastError === "gone") return "locked";
  const { operation, policy, discardPending, takesLimited } = choice;
  try {
    const left = toSettle(vault, policy, { operation, discardPending, force: false }, choice.now);
    if (left !== "acknowledge" && !judge(vault, policy).allows) return "guard";
  } catch (error) {
    if (error instanceof VaultError && error.code === "pending") return "held";
    throw error;
  }
  return operation === "get" && vault.limited && !takesLimited ? "limited" : null;
}
