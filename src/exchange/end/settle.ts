import { VaultError } from "../../errors.ts";
import type { ExchangeContext } from "../context.ts";
import { summarize } from "../context.ts";
import type { ExchangeRecord, OpenExchange } from "../records.ts";
import { heldWays, hintOf } from "../ways.ts";
import type { EndOutcome } from "./send.ts";
import { sendEnd } from "./send.ts";
import type { Settled } from "../states.ts";

/**
 * Acknowledges an open exchange that an earlier run left, before a start. Returns what that settled.
 * @throws what `sendEnd` throws
 */
export async function settleInterrupted(
  context: ExchangeContext,
  open: OpenExchange,
): Promise<Settled[]> {
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
    case "run":
      return "the program of vault run failed";
    case "no-ack":
    case null:
      return "by --no-ack";
  }
}
