import type { Contradiction, ItemReference } from "./report.ts";
import type { Rules } from "../fold/rules.ts";

/** What two items say that cannot both be so, and what may explain it. */
export function contradictionText(kind: Contradiction["kind"], item: ItemReference, rules: Rules): string {
  switch (kind) {
    case "acknowledgement-without-start":
      return `${item.action} without a start before it: an item is missing, or it was acknowledged twice`;
    case "acknowledgement-after-expiry":
      return `${item.action} more than ${rules.tokenLifetimeMs / 1000} s after its start: tokens live longer than assumed (--token-lifetime), or an item is missing`;
    case "acknowledgement-of-other-operation":
      return `${item.action} for a start of the other operation: an item is missing`;
    case "activity-after-deletion":
      return `${item.action} after the vault was deleted`;
    case "activity-while-locked":
      return `${item.action} accepted while the log says that the vault is locked: it was unlocked without an item that says so, or other limits hold than those assumed`;
    case "activity-before-creation":
      return `${item.action} after other items of the same vault`;
    case "created-twice":
      return `${item.action} a second time`;
    case "locked-at-another-moment":
      return `${item.action} says that it locked the vault, which by the rules it did not: other limits hold than those assumed, or an item is missing`;
    case "refused-while-open":
      return `${item.action} refused for a lock that the log does not show: an item is missing, or other limits hold than those assumed`;
  }
}
