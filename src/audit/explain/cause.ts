import { defined } from "../../defined.ts";
import type { Cause, ItemReference, Refused, Rules } from "../../documents/audit.ts";
import { isFailedAccess } from "../fold/events.ts";
import type { Vault } from "../fold/vault.ts";
import { originOf } from "./explanation.ts";
import type { Judgement } from "./verdict.ts";

/** Describes the cause of a lock, with the items that led to it. The rule is found in fold/fold, auto-lock in verdict. */
export function causeOf(
  judgement: Judgement,
  chain: ItemReference[],
  vault: Vault,
  rules: Rules,
  refused: Refused | undefined,
): Cause {
  const { rule = "unseen" } = judgement;
  const { certainty, reason } = judgement.ofRule ?? judgement;
  // The call that found it locked did not lock it.
  const isFound = rule === "auto-lock" || chain.at(-1)?.event === "refused-locked";
  const item = isFound && rule !== "unseen" ? undefined : chain.at(-1);
  return {
    rule,
    ...defined({ item }),
    chain,
    certainty,
    reason,
    text: `${sentence(judgement, chain, vault, rules)}.${rule === "unseen" ? "" : ownText(chain)}`,
    ...defined({ refused }),
  };
}

function sentence(
  judgement: Judgement,
  chain: ItemReference[],
  { ending }: Vault,
  rules: Rules,
): string {
  const { rule = "unseen", lockedAt = 0 } = judgement;
  const at = new Date(lockedAt).toISOString();
  const who = originOf(chain.at(-1));
  const last = who === "" ? "" : `, the last one${who}`;
  const isSure = judgement.certainty === "certain";
  const [locked, auto] = isSure
    ? ["Locked", "Auto-locked"]
    : ["Probably locked", "Probably auto-locked"];
  const isUnsureRule =
    isSure && judgement.ofRule !== undefined && judgement.ofRule.certainty !== "certain";
  const probably = isUnsureRule ? "probably " : "";
  if (ending?.isGuess === true && rule !== "auto-lock") {
    const how =
      chain.at(-1)?.event === "refused-locked"
        ? `when a call${who} was refused because of the lock`
        : "as an item records";
    const [what, limit] =
      rule === "failed-attempts"
        ? ["failed attempts", rules.limits.failedAttempts]
        : ["unacknowledged starts", rules.limits.unackedStarts];
    return `${locked} at ${at} or just before, ${how}, probably after ${inARow(what, ending.count, limit)}`;
  }
  switch (rule) {
    case "failed-attempts":
    case "unacknowledged-starts": {
      const count = ending?.count ?? 0;
      const isFailed = rule === "failed-attempts";
      const kinds = new Set(chain.map(({ event }) => event));
      const what = !isFailed
        ? "unacknowledged starts"
        : kinds.size === 1 && kinds.has("failed-device")
          ? "failed attempts from another device"
          : kinds.size === 1 && kinds.has("failed-pin")
            ? "failed attempts with another PIN"
            : "failed attempts";
      const limit = isFailed ? rules.limits.failedAttempts : rules.limits.unackedStarts;
      return `${locked} at ${at} ${probably}after ${inARow(what, count, limit)}${last}`;
    }
    case "expired-invalid-start":
      return `${locked} at ${at}, when a start with invalid credentials expired; it was sent${who}`;
    case "auto-lock":
      return `${auto} at ${at}: no accepted start for ${Math.round(rules.autoLockAfterMs / 86_400_000)} days`;
    case "administrator":
      return `${locked} at ${at} by an administrator${who}`;
    case "unseen":
      return chain.at(-1)?.event === "lock-noted"
        ? `${locked} at ${at}, as an item records; the log does not show the cause`
        : `${locked} before ${at}, when a call${who} was refused because of the lock; ${
            chain.length > 1
              ? "the calls before it may have caused it"
              : "the log does not show the cause"
          }`;
  }
}

/** As many as lock a vault, of which the log may show fewer. */
const inARow = (what: string, seen: number, limit: number): string =>
  seen < limit ? `${what} in a row (${seen} in the log)` : `${limit} ${what} in a row`;

/** Describes the last item of the chain that is an exchange of this machine. */
function ownText(chain: readonly ItemReference[]): string {
  const item = chain.findLast(({ own }) => own !== undefined);
  if (item?.own === undefined) return "";
  const { id, generation, supersededAt } = item.own;
  const what = isFailedAccess(item.event) ? "failed attempt" : "start";
  const superseded = supersededAt === undefined ? "" : `, superseded at ${supersededAt}`;
  return ` The ${what} at ${item.at} was this machine's exchange ${id}, with credentials of generation ${generation}${superseded}.`;
}
