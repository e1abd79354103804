import type { Client } from "./client.ts";
import { isRefused } from "./client.ts";
import { lockAt } from "./service-part.ts";
import type { Store } from "./state.ts";
import { generationOf, openOf } from "./state.ts";

/** What a refusal names as the next thing to do. By hand, from DESIGN: `differentWays` compares it with the program's table. */
export type Way =
  | "get"
  | "get --discard-pending"
  /** Of the candidates that were not refused, which are listed: if the right one is among them. */
  | "get --generation N"
  | "get --generation N --force"
  | "ack"
  | "ack --saved"
  | "ack --unread"
  | "import"
  /** If an administrator has unlocked the vault. */
  | "guard --reset"
  /** If the audit log shows none of the unanswered starts. */
  | "guard --reset --unanswered"
  /** What the audit log shows. */
  | "guard --reset --failed N --starts N";

/** The ways on after a command that has ended with this code, the best first: none may lead back to the same with nothing changed. */
export function waysOn(client: Client, store: Store, code: string): Way[] {
  const open = openOf(store);
  if (code === "locked")
    return open?.state === "ending" ? ["guard --reset", "ack"] : ["guard --reset"];
  const isUnread = open?.operation === "get" && open.limited && !open.delivered;
  if (open?.state === "ending") return ["ack"];
  if (open?.state === "held") {
    if (open.saveOwed) return ["ack --saved", "get --discard-pending"];
    return isUnread ? ["get --discard-pending", "ack --unread"] : ["ack", "get --discard-pending"];
  }
  if (open?.state === "started") {
    if (!isUnread) return ["ack"];
    return client.guardRefuses(store) ? ["ack --unread"] : ["get", "ack --unread"];
  }
  if (client.guardRefuses(store)) return guardedWays(client, store);
  const candidates = client.candidates(store);
  if (candidates.every((number) => isRefused(store, number))) return ["import"];
  return code === "guard" && candidates.length > 1 ? ["get --generation N", "import"] : ["get"];
}

/** Past the guard, of which a person knows by the audit log which one is right. */
function guardedWays(client: Client, store: Store): Way[] {
  const shown = "guard --reset --failed N --starts N";
  const without = {
    ...store,
    unacked: store.unacked - store.unanswered,
    failed: store.failed - store.possibly,
  };
  if (!client.guardRefuses(without)) return ["guard --reset --unanswered", shown];
  if (store.failed + 1 < lockAt.failed) return [shown];
  const first = client.candidates(store).find((number) => !isRefused(store, number));
  // Of what was refused only other credentials lead on; what was imported last needs no second import.
  if (first === undefined) return ["import", shown];
  const again = generationOf(store, first)?.standing === "imported" ? [] : (["import"] as const);
  return ["get --generation N --force", ...again, shown];
}
