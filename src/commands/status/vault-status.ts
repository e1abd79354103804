import { candidates, currentGeneration } from "../../exchange/start/candidates.ts";
import type { Policy } from "../../exchange/lockout.ts";
import { summarize } from "../../exchange/context.ts";
import type { Breaker } from "../../exchange/breaker.ts";
import { passage } from "../../exchange/breaker.ts";
import { isLockedBy, startRisk } from "../../exchange/lockout.ts";
import type { ExchangeRecord, VaultRecord } from "../../exchange/records.ts";
import type { Circumstances } from "../../exchange/ways.ts";
import { needsChoice, waysOn } from "../../exchange/ways.ts";
import { namedFingerprint } from "../../terminal/secrets.ts";
import type {
  ExchangeStatus,
  ServiceBreaker,
  VaultGuard,
  ListedVault,
} from "../../documents/state.ts";

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

function lockOf({ lastError }: VaultRecord): "locked" | "gone" | undefined {
  return (["locked", "gone"] as const).find((code) => code === lastError?.code);
}

/** Status of a vault. `isProven`: the service has accepted its credentials, or handed them out. */
function statusOf(record: VaultRecord, isProven: boolean): ListedVault["status"] {
  const lock = lockOf(record);
  if (lock !== undefined) return lock;
  if (candidates(record).length === 0) return "forgotten";
  const newest = record.open ?? record.last;
  if (newest === null) return isProven ? "created" : "imported";
  switch (newest.state) {
    case "intent":
      return newest.operation === "delete" ? "delete unanswered" : "start unanswered";
    case "acknowledged":
      return "ready";
    case "expired":
    case "discarded":
      return isProven ? "ready" : "imported";
    case "ending":
      return "acknowledging";
    case "in-doubt":
      return "in doubt";
    case "started":
    case "held":
    case "rejected":
      return newest.state;
  }
}

/** One vault of `status`. */
export function describeVault(
  record: VaultRecord,
  lastReadAt: string | null,
  exchanges: ExchangeRecord[] | undefined,
  circumstances: Circumstances,
): ListedVault {
  const { policy } = circumstances;
  const now = circumstances.clock.now();
  const risk = startRisk(record, policy);
  const pair =
    currentGeneration(record) ?? record.generations.find((g) => g.standing === "imported");
  return {
    uuid: record.uuid,
    label: record.label,
    service: record.service,
    kind: record.kind,
    generation: pair?.generation ?? null,
    fingerprint: pair === undefined ? null : namedFingerprint(pair.fingerprint),
    proven: pair?.proven ?? null,
    status: statusOf(record, pair?.proven === true),
    exchange: record.open === null ? null : describeExchange(record.open, now),
    next: waysOn(record, circumstances),
    unackedStarts: record.unackedStarts,
    failedAttempts: record.failedAttempts,
    possiblyFailed: record.possiblyFailed,
    unansweredStarts: record.unansweredStarts,
    limits: { ...policy },
    guard: risk,
    atRisk: !risk.allows,
    locked: lockOf(record) !== undefined,
    lastReadAt,
    usesRemaining: record.usesRemaining,
    expiryDate: record.expiryDate,
    autoLockDate: record.autoLockDate,
    dateCreated: record.dateCreated,
    lastModified: record.lastModified,
    lastError: record.lastError,
    ...(exchanges === undefined
      ? {}
      : {
          generations: record.generations.map(
            ({ generation, standing, proven, fingerprint, createdAt }) => ({
              generation,
              standing,
              proven,
              fingerprint: namedFingerprint(fingerprint),
              createdAt,
            }),
          ),
          exchanges: exchanges.map((exchange) => describeExchange(exchange, now)),
        }),
  };
}

/** One vault of `guard`. */
export function describeGuard(record: VaultRecord, circumstances: Circumstances): VaultGuard {
  const { policy } = circumstances;
  const { uuid, label, unackedStarts, failedAttempts, possiblyFailed, unansweredStarts } = record;
  return {
    uuid,
    label,
    unackedStarts,
    failedAttempts,
    possiblyFailed,
    unansweredStarts,
    limits: { ...policy },
    allows: startRisk(record, policy).allows,
    next: waysOn(record, circumstances),
    refuses: refusal(record, policy),
  };
}

function refusal(record: VaultRecord, policy: Policy): string | null {
  const { allows, failedWouldLock } = startRisk(record, policy);
  if (allows)
    return needsChoice(record, policy)
      ? "a start without --generation: any of several credentials may be valid"
      : null;
  if (isLockedBy(record, policy)) return "any start: by these counters, the vault is locked";
  return failedWouldLock
    ? `any start: it could be failed attempt ${policy.failedAttempts} of ${policy.failedAttempts}`
    : `any start: it could be unacknowledged start ${policy.unackedStarts} of ${policy.unackedStarts}`;
}

/** The circuit breaker of one service; `now` is by the clock of the state. */
export function describeBreaker(
  breaker: Breaker & { service: string },
  now: number,
): ServiceBreaker {
  const { service, lostAt, lostTrials, httpStatus } = breaker;
  const way = passage(breaker, now, 0);
  return {
    service,
    state: lostAt === null ? "closed" : "open",
    lostAt: lostAt === null ? null : new Date(lostAt).toISOString(),
    trialDueAt: "by" in way ? null : new Date(way.dueAt).toISOString(),
    lostTrials,
    httpStatus,
  };
}
