import type { ErrorFacts } from "../errors.ts";
import { VaultError } from "../errors.ts";
import { isSuccess } from "../protocol/answers.ts";
import type { ExchangeContext } from "./context.ts";
import { currentSpent } from "./context.ts";
import { dispositionOf } from "./dispositions.ts";
import type { Reply, Service } from "./ports.ts";
import type { Settled } from "./states.ts";

/**
 * Runs an exchange, or a part of one. What it throws says what had been settled before, and what is counted toward a
 * lock where a call was sent; it is not called safe to repeat where an earlier start of this command counts.
 */
export async function withErrorFacts<T>(context: ExchangeContext, work: (context: ExchangeContext) => Promise<T>): Promise<T> {
  const settled = new Map<string, Settled>();
  let sent = false;
  let startCounts = false;
  const seen = (reply: Reply): Reply => {
    sent ||= reply.type !== "not-sent";
    return reply;
  };
  const service: Service = {
    admit: async (kind, signal, deadline) => await context.service.admit(kind, signal, deadline),
    start: async (call, signal) => {
      const reply = seen(await context.service.start(call, signal));
      startCounts ||= counts(reply);
      return reply;
    },
    end: async (call, signal) => seen(await context.service.end(call, signal)),
    single: async (call, signal) => seen(await context.service.single(call, signal)),
  };
  const tell: ExchangeContext["tell"] = (event) => {
    if (event.type === "settled") settled.set(event.settled.exchange, event.settled);
    context.tell(event);
  };
  try {
    return await work({ ...context, service, tell });
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    const { uuid } = context.session;
    const facts: ErrorFacts = {
      ...(sent ? await spentIfKnown(context) : {}),
      ...(settled.size > 0 ? { settled: [...settled.values()] } : {}),
    };
    // What is about the command line says that nothing was sent: that holds no longer.
    const saysNothingSent = ["usage", "invalid-input"].includes(error.code);
    if (!startCounts || (error.retry !== "safe" && !saysNothingSent)) throw error.with(facts);
    throw new VaultError(saysNothingSent ? "network" : error.code, error.message, {
      ...error.facts,
      ...facts,
      retry: "after-status",
      hint: `an earlier start of this command was sent, and counts: vault status ${uuid}, then run it again`,
    });
  }
}

/** Whether a start has left something counted: no answer, or a refusal that is not about application, rate or request. */
function counts(reply: Reply): boolean {
  if (reply.type !== "answer") return reply.type === "no-answer";
  return !isSuccess(reply.answer) && dispositionOf(reply.answer).start !== "not-counted";
}

/** Where the state itself has failed, the error is about that. */
async function spentIfKnown(context: ExchangeContext): Promise<Pick<ErrorFacts, "spent">> {
  try {
    return { spent: await currentSpent(context) };
  } catch {
    return {};
  }
}
