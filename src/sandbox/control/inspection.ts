import type { Kind, Operation } from "../../protocol/endpoints.ts";
import type { CreditCard } from "../../protocol/fields.ts";
import type { Pair } from "../../protocol/answers.ts";
import type { LockReason, VaultCounts, VaultState } from "../model/state.ts";

/** State of a vault in the service, for tests in the same process. */
export interface Inspection {
  uuid: string;
  kind: Kind;
  label: string | null;
  state: "active" | "locked" | "deleted";
  lockReason: LockReason | null;
  currentPair: Pair;
  /** The exchange that waits for its end call; null once its token has expired. */
  pending: {
    operation: Operation;
    token: string;
    offered: Pair;
    expiry: string;
    externalRef: string | null;
  } | null;
  failedAccesses: number;
  unackedStarts: number;
  /** Highest values that the counters have had. */
  maxFailedAccesses: number;
  maxUnackedStarts: number;
  usesRemaining: number | null;
  expiryDate: string | null;
  autoLockDate: string;
  dateCreated: string;
  lastModified: string;
  creditCard: CreditCard | null;
  content: string | null;
  counts: VaultCounts;
}

const iso = (time: number): string => new Date(time).toISOString();

/** Returns a copy, which later requests do not change. */
export function inspection(vault: VaultState): Inspection {
  const { pending } = vault;
  return structuredClone({
    uuid: vault.uuid,
    kind: vault.kind,
    label: vault.label,
    state: vault.state,
    lockReason: vault.lockReason,
    currentPair: vault.pair,
    pending: pending && {
      operation: pending.operation,
      token: pending.token,
      offered: pending.offered,
      expiry: iso(pending.expiresAt),
      externalRef: pending.externalRef,
    },
    failedAccesses: vault.failedAccesses,
    unackedStarts: vault.unackedStarts,
    maxFailedAccesses: vault.maxFailedAccesses,
    maxUnackedStarts: vault.maxUnackedStarts,
    usesRemaining: vault.usesRemaining,
    expiryDate: vault.expiryDate === null ? null : iso(vault.expiryDate),
    autoLockDate: iso(vault.autoLockDate),
    dateCreated: iso(vault.dateCreated),
    lastModified: iso(vault.lastModified),
    creditCard: vault.creditCard,
    content: vault.content,
    counts: vault.counts,
  });
}

/** State of a vault without secrets, for the control routes. */
export type PublicInspection = Omit<
  Inspection,
  "currentPair" | "pending" | "creditCard" | "content"
> & {
  pending: { operation: Operation; expiry: string; externalRef: string | null } | null;
};

export function publicInspection(whole: Inspection): PublicInspection {
  const { currentPair: _pair, creditCard: _card, content: _content, pending, ...rest } = whole;
  const shown = pending && {
    operation: pending.operation,
    expiry: pending.expiry,
    externalRef: pending.externalRef,
  };
  return { ...rest, pending: shown };
}
