import { VaultError } from "../errors.ts";
import type { Device } from "../interface/fields.ts";
import type { Policy } from "./context.ts";
import { spentBy } from "./context.ts";
import type { VaultRecord } from "./records.ts";

/** What the guard says of one more start (invariant 4). */
export interface GuardVerdict {
  /** By our records, one more failed access would lock the vault. */
  failedWouldLock: boolean;
  /** By our records, one more start without acknowledgement would lock the vault. */
  unackedWouldLock: boolean;
}

export function judge(record: Pick<VaultRecord, "failedAttempts" | "unackedStarts">, policy: Policy): GuardVerdict {
  return {
    failedWouldLock: record.failedAttempts + 1 >= policy.failed,
    unackedWouldLock: record.unackedStarts + 1 >= policy.unacked,
  };
}

export const allows = (verdict: GuardVerdict): boolean => !verdict.failedWouldLock && !verdict.unackedWouldLock;

/** Raises `guard` where one more start could be the one that locks the vault. */
export function guardStart(record: VaultRecord, policy: Policy): void {
  const verdict = judge(record, policy);
  if (allows(verdict)) return;
  const why = verdict.failedWouldLock
    ? `${record.failedAttempts} failed accesses in a row are on record, and number ${policy.failed} locks it`
    : `${record.unackedStarts} starts without acknowledgement are on record, and number ${policy.unacked} locks it`;
  throw new VaultError("guard", `not sent: it could lock vault ${record.uuid}: ${why}`, {
    vault: record.uuid,
    hint:
      `vault guard ${record.uuid} shows the counters; after an administrator has unlocked the vault: ` +
      `vault guard ${record.uuid} --reset; to send it all the same: --force`,
    spent: spentBy(record, policy),
  });
}

/**
 * Whether an automatic repetition of an unanswered start is allowed: never of an unproven pair, never one of the last
 * two before a lock, so that a person still has one left that cannot lock.
 */
export function allowsRetry(record: VaultRecord, policy: Policy): boolean {
  return record.unackedStarts + 1 <= policy.unacked - 2 && !judge(record, policy).failedWouldLock;
}

/** Raises `guard` if a device of another browser or operating system than the one last accepted would be sent. */
export function guardDevice(uuid: string, accepted: Device | null, device: Device | undefined): void {
  if (accepted === null || device === undefined) return;
  const differing = (["browserType", "osType"] as const).filter((key) => accepted[key] !== device[key]);
  if (differing.length === 0) return;
  const what = differing.map((key) => `${key} ${JSON.stringify(device[key])} instead of ${JSON.stringify(accepted[key])}`).join(", ");
  throw new VaultError("guard", `not sent: the device is not the one that vault ${uuid} was read with: ${what}`, {
    vault: uuid,
    hint: "leave --device out to send the accepted one, or send this one with --force",
  });
}

/** Raises `guard` for a combination of pair, hashedPin, device and kind that the service has refused before. */
export function refusedBefore(uuid: string, generation: number): VaultError {
  return new VaultError("guard", `not sent: the service has refused generation ${generation} of vault ${uuid} in this combination before`, {
    vault: uuid,
    hint: `import another pair (vault import ${uuid} --credentials @FILE), or send this one again with --force`,
  });
}
