import { VaultError } from "../../errors.ts";
import { object } from "../../protocol/answers.ts";
import { command } from "../../way.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import type { Breaker, Response, Seen, ServiceBreaker } from "../breaker.ts";
import { after, BreakerChanged, noResponse, passage } from "../breaker.ts";
import type { ExchangeContext } from "../context.ts";
import { interruptedBefore } from "../context.ts";
import type { CallOutcome } from "../dispositions.ts";
import { isTakenBack } from "../dispositions.ts";
import type { ProbeCall, Reply } from "../ports.ts";
import type { Intent, VaultRecord } from "../records.ts";

/** What a start needs to pass the circuit breaker. */
export type GateContext = Pick<
  ExchangeContext,
  "breaker" | "clock" | "deadline" | "emit" | "probe" | "signal"
>;

/** The vault of the start; none yet for a create. */
export type AtGate = Pick<VaultRecord, "unansweredStarts"> & {
  uuid?: string;
  last: Pick<NonNullable<VaultRecord["last"]>, "state" | "startedAt"> | null;
};

/** How long the gate waits at most before it looks again, in milliseconds. */
const [firstLookMs, lastLookMs] = [200, 10_000];

/**
 * Waits until the circuit breaker lets a start out, and for a place under the rate limit; then records it (①), which claims the trial
 * if it is one. Returns what the start has seen of the breaker; null with `force`, which goes past it.
 * @throws `network` if no trial comes due before the deadline: nothing was sent; `interrupted`; what `admit` throws
 */
export async function letOut(
  context: GateContext & Pick<ExchangeContext, "service" | "session">,
  vault: AtGate,
  intent: Omit<Intent, "seen">,
  force: boolean,
): Promise<Seen | null> {
  for (;;) {
    const known = force ? null : await awaitTrial(context, vault);
    // The probe before a trial has taken a place: the trial waits for the next one, whatever --max-wait is.
    const soonest =
      known === null || known.lostAt === null ? 0 : context.clock.elapsed() + nextPlaceMs;
    await admitted(
      { ...context, deadline: Math.max(context.deadline, soonest) },
      vault,
      intent.kind,
    );
    const { breaker } = context;
    const seen = known === null ? null : seenAs(breaker, known);
    try {
      await context.session.recordIntent({ ...intent, seen });
      if (seen !== null && seen.claim !== null) await breaker.read();
      return seen;
    } catch (error) {
      if (!(error instanceof BreakerChanged)) throw error;
      await breaker.read();
    }
  }
}

/** As `letOut`, for a create, whose record belongs to no vault: claims the trial by itself. */
export async function claimIfTrial(context: GateContext): Promise<Seen> {
  const { breaker } = context;
  for (;;) {
    await breaker.read();
    const known = await awaitTrial(context, { unansweredStarts: 0, last: null });
    const seen = seenAs(breaker, known);
    const { claim } = seen;
    if (
      claim === null ||
      (await breaker.change((now) => (now.version === known.version ? claim : now))) === claim
    )
      return seen;
  }
}

/** What a start that goes out now has seen; where the breaker is open, it is a trial. */
function seenAs(breaker: ServiceBreaker, known: Breaker): Seen {
  const at = breaker.now();
  return {
    at,
    breaker: known,
    claim: known.lostAt === null ? null : after(known, { type: "claimed", at }),
  };
}

/** Waits for a trial if the breaker is open. Returns it as it lets the start out. */
async function awaitTrial(context: GateContext, vault: AtGate): Promise<Breaker> {
  const { breaker, clock, deadline, signal } = context;
  const { unansweredStarts, last } = vault;
  let { known } = breaker;
  if (last?.state === "intent") known = await found(breaker, last);
  let cause =
    known.httpStatus === null
      ? "the service did not respond to a start"
      : `the service responded to a start with HTTP ${known.httpStatus}`;
  let isTold = false;
  for (let lookMs = firstLookMs; ; lookMs = Math.min(lookMs * 2, lastLookMs)) {
    if (signal.aborted) throw interruptedBefore(vault.uuid);
    let way = passage(known, breaker.now(), unansweredStarts);
    if ("by" in way) return known;
    if (known.hint === "none") {
      const reply = await context.probe();
      if (signal.aborted) throw interruptedBefore(vault.uuid);
      known = await breaker.change((now) =>
        after(now, { type: "responded", response: responseOf(reply), isProbe: true }),
      );
      way = passage(known, breaker.now(), unansweredStarts);
      if ("by" in way) return known;
      cause = `the service is unavailable: ${causeOf(reply)}`;
    }
    const dueInMs = way.dueAt - breaker.now();
    const leftMs = deadline - clock.elapsed();
    if (!isTold)
      context.emit({
        type: "waiting",
        cause,
        waitMs: dueInMs,
        unansweredStarts,
        inTime: leftMs > 0,
      });
    isTold = true;
    // To the end, also where the trial is due later: another vault's may close the breaker before.
    if (leftMs <= 0) throw notDue(vault, cause, way.dueAt);
    await clock
      .sleep(Math.max(50, Math.min(lookMs, dueInMs, leftMs)), signal)
      .catch(() => undefined);
    known = await breaker.read();
  }
}

/** A start without an outcome opens the breaker, unless a later one was answered. */
async function found(
  breaker: ServiceBreaker,
  { startedAt }: { startedAt: string },
): Promise<Breaker> {
  const event = { type: "found", startedAt: Date.parse(startedAt) } as const;
  return after(breaker.known, event) === breaker.known
    ? breaker.known
    : await breaker.change((now) => after(now, event));
}

const causeOf = (reply: Reply): string =>
  reply.type === "answer" ? `HTTP ${reply.answer.httpStatus}` : reply.cause;

const at = (time: number): string =>
  new Date(Math.ceil(time / 1000) * 1000).toISOString().replace(".000Z", "Z");

const notDue = ({ uuid }: AtGate, cause: string, dueAt: number): VaultError =>
  new VaultError("network", `not sent: ${cause}; the next trial start is due at ${at(dueAt)}`, {
    uuid,
    hint: "run it again then",
    next: [
      {
        ...command`vault guard ${uuid ?? "--all"} --reset --unanswered`,
        note: "if the audit log shows none of the unanswered starts: then at once",
      },
    ],
  });

/** Says when the next trial of a vault is due, after a start that got no answer. */
export function trialDue(breaker: ServiceBreaker, { unansweredStarts }: AtGate): string {
  const way = passage(breaker.known, breaker.now(), unansweredStarts);
  return "by" in way
    ? "the next start may be sent at once"
    : `the next trial start is due at ${at(way.dueAt)}, or once the service responds`;
}

/** As long as the place after that of a probe may take, in milliseconds. */
const nextPlaceMs = 1000;

/** Waits for a place under the rate limit. */
async function admitted(
  context: GateContext & Pick<ExchangeContext, "service">,
  { uuid }: AtGate,
  kind: Kind,
): Promise<void> {
  const { service, signal, deadline } = context;
  try {
    await service.admit({ kind }, signal, deadline);
  } catch (error) {
    if (signal.aborted) throw interruptedBefore(uuid);
    throw error instanceof VaultError && uuid !== undefined ? error.with({ uuid }) : error;
  }
}

/**
 * Records what the reply to a start, or to a delete or create, says of the service; nothing if it was taken back. The record of an
 * accepted one gets an outcome by what follows.
 */
export async function noteStart(
  breaker: ServiceBreaker,
  seen: Seen | null,
  reply: Reply,
  outcome: CallOutcome,
): Promise<void> {
  if (isTakenBack(outcome)) {
    await withdraw(breaker, seen);
  } else if (!responseOf(reply).isService) {
    await breaker.change((now) =>
      after(now, { type: "unanswered", at: breaker.now(), response: responseOf(reply) }),
    );
  } else if (breaker.known.lostAt !== null || outcome.type !== "accepted") {
    // Also where it is closed: its start may stay on record without an outcome.
    const startedAt = seen?.claim === null ? seen.at : undefined;
    await breaker.change((now) => after(now, { type: "answered", at: breaker.now(), startedAt }));
  }
}

/** Gives a trial back, if it was one: nothing was sent, or nothing counts. */
export async function withdraw(breaker: ServiceBreaker, seen: Seen | null): Promise<void> {
  if (seen === null || seen.claim === null) return;
  const { breaker: before } = seen;
  await breaker.change((now) => after(now, { type: "withdrawn", before }));
}

/** What a reply shows of what stands between here and the service. */
export function responseOf(reply: Reply): Response {
  if (reply.type === "not-sent") return noResponse;
  if (reply.type === "no-answer")
    return {
      httpStatus: reply.httpStatus ?? null,
      contentType: reply.contentType ?? null,
      isService: false,
    };
  const { httpStatus, body } = reply.answer;
  return {
    httpStatus,
    contentType: "application/json",
    isService: object(body["responseStatus"]) !== undefined,
  };
}

/** Records that the service has answered something else than a start. Returns the reply. */
export async function noteResponse(breaker: ServiceBreaker, reply: Reply): Promise<Reply> {
  const event = { type: "responded", response: responseOf(reply), isProbe: false } as const;
  if (after(breaker.known, event) !== breaker.known)
    await breaker.change((now) => after(now, event));
  return reply;
}

const probe: ProbeCall = { step: "probe", kind: "generic/offline" };

/** Longer than any wait for the next place, in milliseconds: one probe is sent whatever --max-wait is. */
const placeMs = 10_000;

/** Finds out whether the service answers, by a call in a place under the rate limit. */
export async function sendProbe({
  service,
  clock,
  deadline,
  signal,
}: Pick<ExchangeContext, "clock" | "deadline" | "service" | "signal">): Promise<Reply> {
  await service.admit({ kind: probe.kind }, signal, Math.max(deadline, clock.elapsed() + placeMs));
  return await service.call(probe, signal);
}
