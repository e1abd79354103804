import type { ErrorFacts } from "../errors.ts";
import { VaultError } from "../errors.ts";
import type { ExchangeContext } from "./context.ts";
import { currentSpent } from "./context.ts";
import type { Reply, Service } from "./ports.ts";
import type { Settled } from "./states.ts";

/**
 * Runs an exchange, or a part of one. What it raises says what had been settled before, and what is counted towards a
 * lock where a call was sent; it is not called safe to repeat where a start of this command went unanswered.
 */
export async function withErrorFacts<T>(context: ExchangeContext, work: (context: ExchangeContext) => Promise<T>): Promise<T> {
  const settled: Settled[] = [];
  let sent = false;
  let startUnanswered = false;
  const seen = (reply: Reply): Reply => {
    sent ||= reply.type !== "not-sent";
    return reply;
  };
  const service: Service = {
    admit: async (signal, deadline) => await context.service.admit(signal, deadline),
    start: async (call, signal) => {
      const reply = seen(await context.service.start(call, signal));
      startUnanswered ||= reply.type === "no-answer";
      return reply;
    },
    end: async (call, signal) => seen(await context.service.end(call, signal)),
    single: async (call, signal) => seen(await context.service.single(call, signal)),
  };
  const tell: ExchangeContext["tell"] = (event) => {
    if (event.type === "settled") settled.push(event.settled);
    context.tell(event);
  };
  try {
    return await work({ ...context, service, tell });
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    const { uuid } = context.session;
    const facts: ErrorFacts = {
      ...(sent ? await spentIfKnown(context) : {}),
      ...(settled.length > 0 ? { settled } : {}),
    };
    if (!startUnanswered || error.retry !== "safe") throw error.with(facts);
    throw new VaultError(error.code, error.message, {
      ...error.facts,
      ...facts,
      retry: "after-status",
      hint: `an earlier start of this command was sent and not answered, and counts: vault status ${uuid}, then run it again`,
    });
  }
}

/** Where the state itself has failed, the error is about that. */
async function spentIfKnown(context: ExchangeContext): Promise<Pick<ErrorFacts, "spent">> {
  try {
    return { spent: await currentSpent(context) };
  } catch {
    return {};
  }
}
