import { defined } from "../../defined.ts";
import { isFailedAccess } from "../fold/events.ts";
import type { Judgement } from "./verdict.ts";
import type { Cause, ItemReference, LockRule, Rules } from "../../documents/audit.ts";

/** Describes the cause of a lock, with the items that led to it. The rule is found in fold/transitions, auto-lock in verdict. */
export function causeOf(judgement: Judgement, chain: ItemReference[], rules: Rules): Cause {
  const { rule = "unseen", certainty, reason } = judgement;
  const item = rule === "auto-lock" ? undefined : chain.at(-1);
  return {
    rule,
    ...defined({ item }),
    chain,
    certainty,
    reason,
    text: `${sentence(rule, judgement, chain, rules)}.${rule === "unseen" ? "" : ownText(chain)}`,
  };
}

function sentence(
  rule: LockRule,
  { lockedAt = 0 }: Judgement,
  chain: ItemReference[],
  rules: Rules,
): string {
  const at = new Date(lockedAt).toISOString();
  const last = chain.at(-1);
  const who = last === undefined ? "" : by(last);
  switch (rule) {
    case "failed-attempts":
      return `Locked at ${at} after ${inARow("failed attempts", chain.length, rules.limits.failedAttempts)}, the last one${who}`;
    case "unacknowledged-starts":
      return `Locked at ${at} after ${inARow("unacknowledged starts", chain.length, rules.limits.unackedStarts)}, the last one${who}`;
    case "expired-invalid-start":
      return `Locked at ${at}, when a start with invalid credentials expired; it was sent${who}`;
    case "auto-lock":
      return `Auto-locked at ${at}: no accepted start for ${Math.round(rules.autoLockAfterMs / 86_400_000)} days`;
    case "administrator":
      return `Locked at ${at} by an administrator${who}`;
    case "unseen":
      return `Locked before ${at}, when a call${who} was refused because of the lock; the log does not show the cause`;
  }
}

/** As many as lock a vault, of which the log may show fewer. */
const inARow = (what: string, seen: number, limit: number): string =>
  seen < limit ? `${what} in a row (${seen} in the log)` : `${limit} ${what} in a row`;

const by = ({ address, externalRef }: ItemReference): string =>
  [
    address === undefined ? "" : ` from ${address}`,
    externalRef === undefined ? "" : ` with reference ${externalRef}`,
  ].join("");

/** Describes the last item of the chain that is an exchange of this machine. */
function ownText(chain: ItemReference[]): string {
  const index = chain.findLastIndex((item) => item.own !== undefined);
  const item = chain[index];
  if (item?.own === undefined) return "";
  const { id, generation, supersededAt } = item.own;
  const what = isFailedAccess(item.event) ? "failed attempt" : "start";
  const superseded = supersededAt === undefined ? "" : `, superseded at ${supersededAt}`;
  return ` The ${ordinal(index + 1)} ${what} at ${item.at} was this machine's exchange ${id}, with credentials of generation ${generation}${superseded}.`;
}

function ordinal(number: number): string {
  const ending =
    number % 100 >= 11 && number % 100 <= 13
      ? "th"
      : ({ 1: "st", 2: "nd", 3: "rd" }[number % 10] ?? "th");
  return `${number}${ending}`;
}
