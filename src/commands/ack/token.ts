import type { Acknowledged } from "../../documents/exchange.ts";
import { VaultError } from "../../errors.ts";
import type { ExchangeContext } from "../../exchange/context.ts";
import { dispositionOf, refusal, serviceDetails, wording } from "../../exchange/dispositions.ts";
import type { EndCall } from "../../exchange/ports.ts";
import { refusedSingle, sendSingle } from "../../exchange/single.ts";
import { isSuccess } from "../../protocol/answers.ts";

/** A token from another machine, as --token gives it, and the exchange that it ends. */
export type ForeignToken = Omit<EndCall, "step" | "uuid">;

/**
 * Sends the acknowledgement of an exchange that this machine did not start, until it is answered or no time is left. Its credentials
 * are not here, so nothing is recorded.
 */
export async function acknowledgeForeign(
  context: ExchangeContext,
  foreign: ForeignToken,
): Promise<Acknowledged["exchange"]> {
  const { uuid } = context.session;
  const call: EndCall = { step: "end", uuid, ...foreign };
  const reply = await sendSingle(context, call);
  if (reply.type !== "answer") throw refusedSingle(context, reply, call);
  const { answer } = reply;
  if (isSuccess(answer))
    return {
      id: null,
      operation: foreign.operation,
      state: "acknowledged",
      externalRef: null,
      startedAt: null,
      tokenExpiry: null,
      generation: null,
      by: null,
      acknowledgedAt: new Date(context.clock.now()).toISOString(),
    };
  const said = dispositionOf(answer, call);
  if (said.end !== "refused") throw refusal(said, { uuid });
  throw new VaultError("service", `the service did not accept the token (${wording(answer)})`, {
    uuid,
    service: serviceDetails(answer),
    hint: "if the token expired, the old credentials are still valid: start again with them",
  });
}
