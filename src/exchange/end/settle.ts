import { VaultError } from "../../errors.ts";
import type { ExchangeContext, Policy } from "../context.ts";
import { summarize } from "../context.ts";
import { allows, guardStart, judge } from "../guard.ts";
import type { ExchangeRecord, OpenExchange, VaultRecord } from "../records.ts";
import type { EndOutcome } from "./send.ts";
import { sendEnd } from "./send.ts";
import type { Settled } from "../states.ts";

interface SettleChoice {
  operation: "get" | "update";
  discardPending: boolean;
  force: boolean;
}

/**
 * What a new start does about an exchange that an earlier run left (DESIGN, Settling): acknowledges it first, where the journal
 * says that an end call may have been sent or where the user had asked for an update; else the start itself drops it, or settles
 * one in doubt.
 * @throws `pending` for a held exchange, and `guard` where only a choice by a person is left
 */
export function toSettle(record: VaultRecord, policy: Policy, choice: SettleChoice): "acknowledge" | "by the start" {
  const { open } = record;
  if (open === null) return "by the start";
  if (open.state === "ending") return "acknowledge";
  if (open.state === "in-doubt" || choice.discardPending) return "by the start";
  if (open.state === "held") throw heldError(record.uuid, open);
  if (choice.operation === "update") return "by the start";
  if (open.operation === "update") return "acknowledge";
  if (choice.force || allows(judge(record, policy))) return "by the start";
  // Acknowledging an undelivered read of a limited vault would use it up unseen: that is for a person to decide.
  if (open.limited) guardStart(record, policy);
  return "acknowledge";
}

/**
 * Does it, and returns what it settled; a start may follow.
 * @throws as `toSettle`, and what an end call throws
 */
export async function settleLeft(context: ExchangeContext, record: VaultRecord, choice: SettleChoice): Promise<Settled[]> {
  const { open } = record;
  if (toSettle(record, context.policy, choice) !== "acknowledge" || open === null) return [];
  const { outcome } = await sendEnd(context, open, false);
  const settled = settledAs(open, outcome);
  context.tell({ type: "settled", settled });
  // In doubt is not the end of it: the start that follows finds out, and tells.
  return outcome === "in-doubt" ? [] : [settled];
}

export function settledAs(exchange: Pick<OpenExchange, "id" | "operation">, outcome: EndOutcome): Settled {
  const acknowledged = exchange.operation === "update" ? "applied" : "acknowledged";
  const words = { acknowledged, expired: "not-applied", "in-doubt": "in-doubt" } as const;
  return { exchange: exchange.id, operation: exchange.operation, outcome: words[outcome] };
}

/** What a start with `generation` says about an exchange in doubt: one of its two pairs has proven valid. */
export function settledByStart(open: OpenExchange, generation: number): Settled {
  if (generation === open.newGeneration) return settledAs(open, "acknowledged");
  // Another one than its two: whether somebody had acknowledged it before is not known.
  return settledAs(open, generation === open.baseGeneration ? "expired" : "in-doubt");
}

/** Exit 11 for a held exchange, naming both ways out. */
export function heldError(uuid: string, held: ExchangeRecord): VaultError {
  const ways = held.saveOwed
    ? `vault ack ${uuid} --save-cmd CMD (or --saved)`
    : held.operation === "get" && held.limited && !held.delivered
      ? `vault ack ${uuid} --unread`
      : `vault ack ${uuid}`;
  return new VaultError("pending", `an exchange of this vault is held (${describeHold(held)})`, {
    vault: uuid,
    exchange: summarize(held),
    hint: `finish it: ${ways}; or drop it and start anew with the old pair: vault ${held.operation} ${uuid} --discard-pending`,
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
    case "no-ack":
    case null:
      return "as --no-ack asked";
  }
}
