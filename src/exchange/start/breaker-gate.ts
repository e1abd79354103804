import { VaultError } from "../../errors.ts";
import { isSuccess, object, type Answer } from "../../protocol/answers.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import type { Breaker, Seen, ServiceBreaker } from "../breaker.ts";
import { after, applyTo, BreakerChanged, isTriedByTime, trialDueAt } from "../breaker.ts";
import type { Meaning } from "../dispositions.ts";
import { interruptedBefore } from "../context.ts";
import type { ExchangeContext, Reply } from "../ports.ts";
import type { VaultRecord } from "../records.ts";

type SendContext = Pick<ExchangeContext, "clock" | "deadline" | "service" | "signal">;
type GateContext = SendContext & Pick<ExchangeContext, "breaker" | "emit">;

/** The vault of the start; null for a create. */
type AtGate = Pick<VaultRecord, "last" | "unansweredStarts" | "uuid"> | null;

/** How long the gate waits at most before it looks again, in milliseconds. */
const lookMs = 2000;

/** Longer than any wait for the next place under the rate limit, in milliseconds: a probe, and the trial after it, go out whatever --max-wait is. */
const placeMs = 10_000;

/**
 * Waits until the circuit breaker lets a start out (not with `force`), and for a place under the rate limit; then records it (①), which
 * claims the trial if it is one. `record` throws BreakerChanged if the breaker is not as it was seen. A create waits for its place later.
 * @throws `network` if no trial comes due before the deadline: nothing was sent; `interrupted`; what `admit` throws
 */
export async function letOut(
  context: GateContext,
  vault: AtGate,
  start: { kind?: Kind; force: boolean; record: (seen: Seen) => Promise<void> },
): Promise<Seen> {
  const { breaker } = context;
  const { kind, force, record } = start;
  for (;;) {
    const known = force ? breaker.known : await awaitTrial(context, vault);
    const isTrial = !force && known.lostAt !== null;
    if (kind !== undefined) await admitted(context, vault?.uuid, kind, isTrial);
    const at = breaker.now();
    const claim = isTrial ? after(known, { type: "claimed", at }) : null;
    const seen = { at, breaker: known, claim };
    try {
      await record(seen);
      return seen;
    } catch (error) {
      if (!(error instanceof BreakerChanged)) throw error;
      await breaker.read();
    }
  }
}

/** Waits for a trial if the breaker is open, and sends the probe before it. Returns the breaker as it lets the start out. */
async function awaitTrial(context: GateContext, vault: AtGate): Promise<Breaker> {
  const { breaker, clock, deadline, signal } = context;
  const { unansweredStarts = 0, last = null, uuid } = vault ?? {};
  let known =
    last?.state === "intent"
      ? await applyTo(breaker, { type: "found", startedAt: Date.parse(last.startedAt) })
      : breaker.known;
  let cause =
    known.httpStatus === null
      ? "the service did not respond to a start"
      : `the service responded to a start with HTTP ${known.httpStatus}`;
  let toldUntil = -Infinity;
  for (;;) {
    if (signal.aborted) throw interruptedBefore(uuid);
    const now = breaker.now();
    const dueAt = trialDueAt(known, now, unansweredStarts);
    if (dueAt === null) return known;
    if (dueAt <= now) {
      if (isTriedByTime(known, now)) return known;
      const probed = await probe(context, known, uuid);
      if (probed !== null && isOfService(probed.reply)) return probed.breaker;
      if (probed !== null && probed.reply.type !== "answer")
        cause = `the service is unavailable: ${probed.reply.cause}`;
      known = probed?.breaker ?? (await breaker.read());
      continue;
    }
    const leftMs = deadline - clock.elapsed();
    // To the end, even if the trial is due later: another vault's may close the breaker before.
    if (leftMs <= 0) throw await notDue(uuid, cause, dueAt);
    if (now >= toldUntil) {
      context.emit({ type: "waiting", cause, waitMs: dueAt - now, unansweredStarts });
      toldUntil = dueAt;
    }
    await clock
      .sleep(Math.max(50, Math.min(lookMs, dueAt - now, leftMs)), signal)
      .catch(() => undefined);
    known = await breaker.read();
  }
}

/** Claims and sends a probe. Returns the breaker after it; null if another process was faster. */
async function probe(
  context: GateContext,
  known: Breaker,
  uuid?: string,
): Promise<{ breaker: Breaker; reply: Reply } | null> {
  const { breaker } = context;
  const claimed = after(known, { type: "probing", at: breaker.now() });
  if (!(await breaker.replace(known, claimed))) return null;
  const reply = await sendProbe(context, uuid);
  const isAnswered = isOfService(reply);
  const probed = after(claimed, { type: "probed", at: breaker.now(), isAnswered });
  return (await breaker.replace(claimed, probed)) ? { breaker: probed, reply } : null;
}

/** Asks once, after the first answered start, whether the service answers probes; not while it is open, where a probe delays the trial. */
export async function learnProbes(context: GateContext): Promise<void> {
  const { known } = context.breaker;
  if (known.probes === "unasked" && known.lostAt === null) await probe(context, known);
}

const at = (time: number): string =>
  new Date(Math.ceil(time / 1000) * 1000).toISOString().replace(".000Z", "Z");

async function notDue(uuid: string | undefined, cause: string, dueAt: number): Promise<VaultError> {
  const { noneArrived } = await import("../refusals.ts");
  return new VaultError(
    "network",
    `not sent: ${cause}; the next trial start is due at ${at(dueAt)}`,
    { uuid, hint: "run it again then", next: [noneArrived(uuid ?? "--all", ": then at once")] },
  );
}

/** Says when the next trial of a vault is due, after a start that got no answer. */
export function trialDue(breaker: ServiceBreaker, { unansweredStarts }: VaultRecord): string {
  const dueAt = trialDueAt(breaker.known, breaker.now(), unansweredStarts);
  return dueAt === null ? "" : `; the next trial start is due at ${at(dueAt)}`;
}

async function admitted(
  { service, signal, deadline, clock }: SendContext,
  uuid: string | undefined,
  kind: Kind,
  isTrial: boolean,
): Promise<void> {
  const soonest = isTrial ? clock.elapsed() + placeMs : 0;
  try {
    await service.admit({ kind }, signal, Math.max(deadline, soonest));
  } catch (error) {
    if (signal.aborted) throw interruptedBefore(uuid);
    throw error instanceof VaultError && uuid !== undefined ? error.with({ uuid }) : error;
  }
}

/** Gives a trial back whose call counts nothing, or was not sent. */
export async function giveBack(
  breaker: ServiceBreaker,
  { claim, breaker: before }: Seen,
): Promise<void> {
  if (claim !== null) await applyTo(breaker, { type: "withdrawn", before });
}

/** The whole answer that says SUCCESS. */
export const acceptedBy = (reply: Reply): Answer | undefined =>
  reply.type === "answer" && isSuccess(reply.answer) ? reply.answer : undefined;

/** Records what the reply to a start, or to a delete or create, says of the service; `meaning` of one that does not accept it. */
export async function noteStart(
  breaker: ServiceBreaker,
  seen: Seen,
  reply: Reply,
  meaning?: Meaning,
): Promise<void> {
  const { at: startedAt, claim } = seen;
  if (meaning?.start === "free" || reply.type === "not-sent") await giveBack(breaker, seen);
  else if (!isOfService(reply)) {
    const { httpStatus = null } = reply.type === "answer" ? reply.answer : reply;
    await applyTo(breaker, { type: "lost", at: breaker.now(), startedAt, httpStatus });
  } else if (breaker.known.lostAt !== null || meaning !== undefined) {
    // Even if it is closed: its start may stay on record without an outcome.
    const begun = claim === null ? startedAt : undefined;
    await applyTo(breaker, { type: "answered", at: breaker.now(), startedAt: begun });
  }
}

/** The service's own answer: JSON with `responseStatus`, and a status below 500. */
export const isOfService = (reply: Reply): boolean =>
  reply.type === "answer" && object(reply.answer.body["responseStatus"]) !== undefined;

/** Finds out whether the service answers, by a call that counts nothing, in a place under the rate limit. */
export async function sendProbe(context: SendContext, uuid?: string): Promise<Reply> {
  const kind = "generic/offline";
  await admitted(context, uuid, kind, true);
  return await context.service.call({ step: "probe", kind }, context.signal);
}
