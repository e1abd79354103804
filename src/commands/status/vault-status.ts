import type { Holder } from "../../actor.ts";
import type { Circumstances, NextAction } from "../../exchange/next-action.ts";
import { aRead, candidates, likely, nextAction, unrefused } from "../../exchange/next-action.ts";
import { currentGeneration, summarize } from "../../exchange/records.ts";
import { trialDueAt, type Breaker } from "../../exchange/breaker.ts";
import { allowsStart } from "../../exchange/counting.ts";
import type { ExchangeRecord, Generation, VaultRecord } from "../../exchange/records.ts";
import { waysOn } from "../../exchange/refusals.ts";
import type { Narrator } from "../../terminal/narrator.ts";
import { namedFingerprint } from "../../terminal/secrets.ts";
import { command, noted, wayText } from "../../way.ts";
import type { ExchangeStatus, ServiceBreaker, ListedVault } from "../../documents/state.ts";

/** An exchange as the JSON documents show it: no secret in it. */
function describeExchange(exchange: ExchangeRecord, now: number): ExchangeStatus {
  const { tokenExpiry, acknowledgedAt, holdReason, delivered } = exchange;
  const secondsLeft =
    tokenExpiry === null ? null : Math.max(0, Math.floor((Date.parse(tokenExpiry) - now) / 1000));
  return {
    ...summarize(exchange),
    tokenSecondsLeft: secondsLeft,
    holdReason,
    delivered,
    saveOwed: exchange.saveOwed,
    endsUnanswered: exchange.endsUnanswered,
    acknowledgedAt,
  };
}

/** Status of a vault by what a read would do now, with these credentials: undefined if all that are likely to be valid were refused. */
function statusOf(
  record: VaultRecord,
  action: NextAction,
  pair: Generation | undefined,
  isInUse: boolean,
): ListedVault["status"] {
  const { open, last, lastError } = record;
  if (lastError?.code === "locked" || lastError?.code === "gone") return lastError.code;
  if (isInUse) return "in-use";
  if (open?.state === "ending") return "acknowledging";
  if (open?.state === "in-doubt") return "in doubt";
  if (open !== null) return open.state as "started" | "held";
  if (candidates(record).length === 0) return "forgotten";
  if (pair === undefined) return "rejected";
  if (!pair.proven) return "unverified";
  if (last?.state === "intent")
    return last.operation === "delete" ? "delete unanswered" : "start unanswered";
  return action.do === "refuse" ? "at risk" : "ready";
}

export const countersOf = (
  { unackedStarts, failedAttempts, possiblyFailed, unansweredStarts }: VaultRecord,
  limits: Circumstances["policy"],
) => ({ unackedStarts, failedAttempts, possiblyFailed, unansweredStarts, limits });

/** One vault of `status`; `inUse` by the process that has it. */
export function describeVault(
  record: VaultRecord,
  inUse: Holder | null,
  history: boolean | undefined,
  circumstances: Circumstances,
): ListedVault {
  const { policy } = circumstances;
  const now = circumstances.clock.now();
  const action = nextAction(record, aRead, circumstances);
  const [toTry] = likely(unrefused(record));
  const status = statusOf(record, action, toTry, inUse !== null);
  const pair =
    (record.open === null ? toTry : undefined) ??
    currentGeneration(record) ??
    record.generations.find((g) => g.standing === "imported");
  return {
    uuid: record.uuid,
    label: record.label,
    service: record.service,
    kind: record.kind,
    generation: pair?.generation ?? null,
    fingerprint: pair === undefined ? null : namedFingerprint(pair.fingerprint),
    proven: pair?.proven ?? null,
    status,
    inUse,
    exchange: record.open === null ? null : describeExchange(record.open, now),
    next: inUse === null ? waysOn(record, circumstances) : [],
    ...countersOf(record, policy),
    atRisk: !allowsStart(record, policy),
    locked: status === "locked" || status === "gone",
    lastReadAt: record.lastReadAt,
    usesRemaining: record.usesRemaining,
    expiryDate: record.expiryDate,
    autoLockDate: record.autoLockDate,
    dateCreated: record.dateCreated,
    lastModified: record.lastModified,
    lastError: record.lastError,
    ...(history === true && {
      generations: record.generations.map(
        ({ generation, standing, proven, fingerprint, createdAt }) => ({
          generation,
          standing,
          proven,
          fingerprint: namedFingerprint(fingerprint),
          createdAt,
        }),
      ),
      exchanges: record.exchanges.map((exchange) => describeExchange(exchange, now)),
    }),
  };
}

/** The circuit breaker of one service, for a vault with so many unanswered starts; `now` is by the clock of the state. */
export function describeBreaker(
  breaker: Breaker & { service: string },
  now: number,
  unansweredStarts = 0,
): ServiceBreaker {
  const { service, lostAt, lostTrials, httpStatus } = breaker;
  const dueAt = trialDueAt(breaker, now, unansweredStarts) ?? now;
  return {
    service,
    state: lostAt === null ? "closed" : "open",
    lostAt: lostAt === null ? null : new Date(lostAt).toISOString(),
    trialDueAt: dueAt <= now ? null : new Date(dueAt).toISOString(),
    lostTrials,
    httpStatus,
  };
}

/** Most vaults that are named because they need a command of their own. */
const namedAtMost = 5;

/** Says what leads on from these vaults: one command for all that can be acknowledged, one for each other vault. */
export function sayNext(
  narrator: Narrator,
  vaults: readonly Pick<ListedVault, "uuid" | "next">[],
): void {
  const firsts = vaults.flatMap(({ next }) => next.slice(0, 1));
  const steps = [...new Map(firsts.map((way) => [wayText(way), way])).values()];
  const others = steps.filter(({ argv }) => argv[1] !== "ack" || argv.length > 3);
  const more = others.length - namedAtMost;
  narrator.note("", [
    ...(others.length < steps.length ? [command`vault ack --all`] : []),
    ...others.slice(0, namedAtMost),
    ...(more > 0 ? [noted(command`vault status UUID`, `for ${more} more vaults`)] : []),
  ]);
}
