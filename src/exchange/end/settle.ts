import { VaultError } from "../../errors.ts";
import type { ExchangeContext, Policy } from "../context.ts";
import { circumstances, isTokenAlive, summarize } from "../context.ts";
import { guardStart } from "../guard.ts";
import type { Counters } from "../lockout.ts";
import { judge } from "../lockout.ts";
import type { ExchangeRecord, OpenExchange, VaultRecord } from "../records.ts";
import { heldWays, hintOf } from "../ways.ts";
import type { EndOutcome } from "./send.ts";
import { sendEnd } from "./send.ts";
import type { Settled } from "../states.ts";

interface SettleChoice {
  operation: "get" | "update";
  discardPending: boolean;
  force: boolean;
}

/**
 * What a start does about an exchange that an earlier run left: it is acknowledged first, or the start itself discards it (or settles
 * it if it is in doubt), or only a person can decide.
 */
export type Left = "acknowledge" | "by the start" | "for a person";

/**
 * Decides what a new start does about an exchange that an earlier run left (DESIGN, Settling): it acknowledges the exchange first if an
 * end call may have been sent or if the user had asked for an update. `now` is by the clock of the state.
 * @throws `pending` for a held exchange, unless it is a get that nobody can acknowledge any more
 */
export function toSettle(
  record: Counters & Pick<VaultRecord, "open" | "uuid">,
  policy: Policy,
  choice: SettleChoice,
  now: number,
): Left {
  const { open } = record;
  if (open === null) return "by the start";
  if (open.state === "ending") return "acknowledge";
  if (open.state === "in-doubt" || choice.discardPending) return "by the start";
  if (open.state === "held") {
    const isLapsed = open.operation === "get" && !open.saveOwed && !isTokenAlive(open, now);
    if (isLapsed && choice.operation === "get") return "by the start";
    throw heldError(record.uuid, open);
  }
  // The state has lost what came next, as after a failover: the service is asked by the end call.
  if (open.endsUnanswered > 0 && !open.limited) return "acknowledge";
  if (choice.operation === "update") return "by the start";
  if (open.operation === "update") return "acknowledge";
  if (choice.force || judge(record, policy).allows) return "by the start";
  // Acknowledging an undelivered read of a limited vault would use it up unseen.
  return open.limited ? "for a person" : "acknowledge";
}

/**
 * Settles an exchange that an earlier run left, as far as that comes before a start. Returns what it settled.
 * @throws `guard` if only a person can decide, and what `sendEnd` throws
 */
export async function settleInterrupted(
  context: ExchangeContext,
  record: VaultRecord,
  left: Left,
): Promise<Settled[]> {
  const { open } = record;
  if (left === "for a person") guardStart(record, circumstances(context));
  if (left !== "acknowledge" || open === null) return [];
  const { outcome } = await sendEnd(context, open, false);
  const settled = settledAs(open, outcome);
  context.emit({ type: "settled", settled });
  // The start that follows resolves the doubt, and reports it.
  return outcome === "in-doubt" ? [] : [settled];
}

export function settledAs(
  { id, operation, externalRef }: Pick<OpenExchange, "id" | "operation" | "externalRef">,
  outcome: EndOutcome,
): Settled {
  const acknowledged = operation === "update" ? "applied" : "acknowledged";
  const words = { acknowledged, expired: "not-applied", "in-doubt": "in-doubt" } as const;
  return { exchange: { id, operation, externalRef }, operation, outcome: words[outcome] };
}

/** What the success of a start with `generation` says about an exchange in doubt. */
export function settledByStart(open: OpenExchange, generation: number): Settled {
  if (generation === open.newGeneration) return settledAs(open, "acknowledged");
  // Neither of its two pairs: somebody may have acknowledged it before.
  return settledAs(open, generation === open.baseGeneration ? "expired" : "in-doubt");
}

/** Exit 11 for a held exchange, naming both ways out. */
export function heldError(uuid: string, held: OpenExchange): VaultError {
  return new VaultError("pending", `an exchange of this vault is held (${describeHold(held)})`, {
    uuid,
    exchange: summarize(held),
    hint: hintOf(heldWays(uuid, held)),
  });
}

function describeHold(held: ExchangeRecord): string {
  switch (held.holdReason) {
    case "delivery":
      return "its contents could not be delivered";
    case "masked":
      return "it is the last read, and its contents were not shown";
    case "credentials-out":
      return "--credentials-out could not be written";
    case "save-cmd":
      return "--save-cmd failed";
    case "exec":
      return "--exec failed";
    case "no-ack":
    case null:
      return "by --no-ack";
  }
}
