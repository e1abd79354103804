import type { ErrorFacts } from "../errors.ts";
import { VaultError } from "../errors.ts";
import type { ExchangeContext } from "./context.ts";
import { currentRecord } from "./context.ts";
import { acceptedBy, isTakenBack, outcomeOf } from "./dispositions.ts";
import { spentBy } from "./lockout.ts";
import type { Reply, Send, StartCall } from "./ports.ts";
import type { Settled } from "./states.ts";
import { shownBy } from "./ways.ts";

/**
 * Runs an exchange, or a part of one, and adds facts to what it throws: what was settled before and, if a call was sent, the
 * counters toward lockout. If an earlier start of this command counts, the error does not call a repetition safe.
 */
export async function withErrorFacts<T>(
  context: ExchangeContext,
  work: (context: ExchangeContext) => Promise<T>,
): Promise<T> {
  const settled = new Map<string, Settled>();
  let sent = false;
  let startCounts = false;
  const call: Send = async (called, signal) => {
    const reply = await context.service.call(called, signal);
    sent ||= reply.type !== "not-sent";
    if (called.step === "start") startCounts ||= counts(reply, called);
    return reply;
  };
  const emit: ExchangeContext["emit"] = (event) => {
    if (event.type === "settled") settled.set(event.settled.exchange.id, event.settled);
    context.emit(event);
  };
  try {
    return await work({ ...context, service: { ...context.service, call }, emit });
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    const { uuid } = context.session;
    const facts: ErrorFacts = {
      ...(sent ? await spentIfKnown(context) : {}),
      ...(settled.size > 0 ? { settled: [...settled.values()] } : {}),
    };
    // These errors about the command line imply that nothing was sent, which is no longer true.
    const saysNothingSent = ["usage", "invalid-input"].includes(error.code);
    // A state that was lost after a start has not recorded what became of it.
    startCounts ||= sent && error.code === "state";
    if (!startCounts || (error.retry !== "safe" && !saysNothingSent)) throw error.with(facts);
    throw new VaultError(saysNothingSent ? "network" : error.code, error.message, {
      ...error.facts,
      ...facts,
      retry: "after-status",
      hint: `an earlier start of this command was sent, and counts; ${shownBy(uuid, context.file)} (then run it again)`,
    });
  }
}

/** Whether a start counts toward lockout: it got no answer, or a refusal that the service counts. */
function counts(reply: Reply, call: StartCall): boolean {
  const outcome = outcomeOf(reply, call, acceptedBy(reply));
  return outcome.type !== "accepted" && !isTakenBack(outcome);
}

/** The counters; nothing if they cannot be read, since the error is then about the state itself. */
async function spentIfKnown(context: ExchangeContext): Promise<Pick<ErrorFacts, "spent">> {
  try {
    return { spent: spentBy(await currentRecord(context), context.policy) };
  } catch {
    return {};
  }
}
