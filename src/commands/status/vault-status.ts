import { currentGeneration } from "../../exchange/start/candidates.ts";
import type { Policy } from "../../exchange/context.ts";
import { allows, judge } from "../../exchange/guard.ts";
import type { ExchangeRecord, VaultRecord } from "../../exchange/records.ts";

/** An exchange as the JSON documents show it: no secret in it. */
function describeExchange(exchange: ExchangeRecord, now: number) {
  const { id, operation, state, externalRef, startedAt, tokenExpiry, acknowledgedAt, holdReason, delivered } = exchange;
  const secondsLeft = tokenExpiry === null ? null : Math.max(0, Math.floor((Date.parse(tokenExpiry) - now) / 1000));
  return {
    id,
    operation,
    state,
    externalRef,
    startedAt,
    tokenExpiry,
    tokenSecondsLeft: secondsLeft,
    generation: exchange.newGeneration,
    holdReason,
    delivered,
    saveOwed: exchange.saveOwed,
    endsUnanswered: exchange.endsUnanswered,
    acknowledgedAt,
  };
}

/** What finishes an open exchange. A read of a limited vault that nobody has seen is read again, not acknowledged. */
export function nextStep(uuid: string, open: ExchangeRecord): string {
  if (open.state === "in-doubt") return `vault get ${uuid}`;
  const isUnread = open.operation === "get" && open.limited && !open.delivered;
  if (!isUnread || open.state === "ending") return `vault ack ${uuid}${open.saveOwed ? " --save-cmd CMD (or --saved)" : ""}`;
  return `vault get ${uuid}${open.state === "held" ? " --discard-pending" : ""} (or vault ack ${uuid} --unread)`;
}

/** One vault of `status`. */
export function describeVault(record: VaultRecord, exchanges: ExchangeRecord[] | undefined, policy: Policy, now: number) {
  const verdict = judge(record, policy);
  const shown = record.open ?? record.last;
  const pair = currentGeneration(record) ?? record.generations.find((g) => g.standing === "imported");
  return {
    uuid: record.uuid,
    service: record.service,
    kind: record.kind,
    label: record.label,
    generation: pair?.generation ?? null,
    fingerprint: pair?.fingerprint ?? null,
    proven: pair?.proven ?? null,
    state: shown?.state ?? null,
    operation: shown?.operation ?? null,
    pending: record.open === null ? null : { ...describeExchange(record.open, now), next: nextStep(record.uuid, record.open) },
    unackedStarts: record.unackedStarts,
    failedAttempts: record.failedAttempts,
    possiblyFailed: record.possiblyFailed,
    limits: { ...policy },
    guard: { allows: allows(verdict), ...verdict },
    atRisk: !allows(verdict),
    locked: ["locked", "gone"].includes(record.lastError?.code ?? ""),
    usesRemaining: record.usesRemaining,
    expiryDate: record.expiryDate,
    autoLockDate: record.autoLockDate,
    dateCreated: record.dateCreated,
    lastModified: record.lastModified,
    lastError: record.lastError,
    ...(exchanges === undefined
      ? {}
      : {
          generations: record.generations.map(({ generation, standing, proven, fingerprint, createdAt }) => ({
            generation,
            standing,
            proven,
            fingerprint,
            createdAt,
          })),
          exchanges: exchanges.map((exchange) => describeExchange(exchange, now)),
        }),
  };
}

export type VaultStatus = ReturnType<typeof describeVault>;

/** One vault of `guard`. */
export function describeGuard(record: VaultRecord, policy: Policy) {
  const verdict = judge(record, policy);
  return {
    uuid: record.uuid,
    label: record.label,
    unackedStarts: record.unackedStarts,
    failedAttempts: record.failedAttempts,
    possiblyFailed: record.possiblyFailed,
    limits: { ...policy },
    allows: allows(verdict),
    refuses: allows(verdict)
      ? null
      : verdict.failedWouldLock
        ? `any start: it could be failed attempt ${policy.failedAttempts} of ${policy.failedAttempts}`
        : `any start: it could be unacknowledged start ${policy.unackedStarts} of ${policy.unackedStarts}`,
  };
}
