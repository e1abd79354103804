import { VaultError } from "../../errors.ts";
import {
  dispositionOf,
  notSentError,
  refusal,
  serviceDetails,
  unansweredError,
  unsupported,
  wording,
} from "../dispositions.ts";
import type { ExchangeContext } from "../context.ts";
import { nextTry } from "../context.ts";
import type { EndCall, Reply, SingleCall } from "../ports.ts";

/** Everything that a call outside an exchange needs. */
export type SingleContext = Pick<
  ExchangeContext,
  "clock" | "deadline" | "emit" | "service" | "signal"
>;

/**
 * Sends a call that counts nothing toward lockout; an end call only if its exchange is not known here. Repeats it until the
 * deadline if it surely did not arrive or came too early (429), and an end call if it got no answer. Returns the last reply.
 * @throws `interrupted`, only while nothing is under way, and what `admit` throws
 */
export async function sendSingle(
  context: SingleContext,
  call: SingleCall | EndCall,
): Promise<Reply> {
  const { service, clock, signal, deadline } = context;
  const next = { kind: call.kind, isEnd: call.step === "end" };
  for (let attempt = 0; ; attempt += 1) {
    await untilInterrupted(signal, async () => await service.admit(next, signal, deadline));
    const reply = await service.call(call, signal);
    const isLimited = reply.type === "answer" && dispositionOf(reply.answer, call).is === "rate";
    if (reply.type === "answer" && !isLimited) return reply;
    if (reply.type === "no-answer" && (call.step !== "end" || signal.aborted)) return reply;
    const { waitMs, inTime } = nextTry(context, attempt, reply);
    if (!inTime) return reply;
    context.emit({
      type: "retrying",
      step: call.step,
      cause: reply.type === "answer" ? "rate limited" : reply.cause,
      waitMs,
    });
    await untilInterrupted(signal, async () => await clock.sleep(waitMs, signal));
  }
}

async function untilInterrupted(signal: AbortSignal, wait: () => Promise<void>): Promise<void> {
  try {
    await wait();
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new VaultError("interrupted", "interrupted; nothing was done", {
      retry: "safe",
      hint: "run the command again",
    });
  }
}

/** The error for a call that was not accepted: it was not sent, got no answer, which a repetition would not worsen, or was refused. */
export function refusedSingle(
  context: Pick<SingleContext, "signal">,
  reply: Reply,
  call: SingleCall | EndCall,
): VaultError {
  const uuid = call.step === "create" ? undefined : call.uuid;
  if (reply.type === "not-sent") return notSentError(reply, uuid);
  if (reply.type === "no-answer") {
    const step = call.step === "end" ? "acknowledgement" : call.step;
    const hint = "run it again (it does not count toward lockout)";
    return unansweredError(context, step, reply, null, { uuid, retry: "safe", hint });
  }
  const { answer } = reply;
  const disposition = dispositionOf(answer, call);
  // Nothing of this call is counted, and what is unknown may be that it does not exist.
  if (disposition.start !== "failed-attempt" && disposition.start !== "unknown")
    return refusal(disposition, { uuid });
  return new VaultError("service", `the service refused (${wording(answer)})`, {
    uuid,
    service: serviceDetails(answer),
    hint: `${unsupported}; --debug shows the whole response`,
  });
}
