import { VaultError } from "../errors.ts";
import type { Device } from "../protocol/fields.ts";
import type { Policy } from "./context.ts";
import { spentBy } from "./context.ts";
import type { VaultRecord } from "./records.ts";

/** What one more start could do, by our records (invariant 4). What was counted is decided by dispositions.ts. */
interface GuardVerdict {
  /** One more failed attempt would lock the vault. */
  failedWouldLock: boolean;
  /** It would, but only if starts of unknown outcome failed. */
  onlyPossibly: boolean;
  /** One more start without acknowledgement would lock the vault. */
  unackedWouldLock: boolean;
}

export type Counters = Pick<VaultRecord, "failedAttempts" | "possiblyFailed" | "unackedStarts">;

export function judge({ failedAttempts, possiblyFailed, unackedStarts }: Counters, policy: Policy): GuardVerdict {
  const failedWouldLock = failedAttempts + 1 >= policy.failedAttempts;
  const unackedWouldLock = unackedStarts + 1 >= policy.unackedStarts;
  const onlyPossibly = failedWouldLock && !unackedWouldLock && failedAttempts - possiblyFailed + 1 < policy.failedAttempts;
  return { failedWouldLock, onlyPossibly, unackedWouldLock };
}

export const allows = (verdict: GuardVerdict): boolean => !verdict.failedWouldLock && !verdict.unackedWouldLock;

/** @throws `guard` if one more start could lock the vault */
export function guardStart(record: VaultRecord, policy: Policy): void {
  const verdict = judge(record, policy);
  if (allows(verdict)) return;
  const possibly = verdict.onlyPossibly ? ` (${record.possiblyFailed} of them only possibly: no response)` : "";
  const why = verdict.failedWouldLock
    ? `${record.failedAttempts} of ${policy.failedAttempts} failed attempts used${possibly}; one more locks the vault`
    : `${record.unackedStarts} of ${policy.unackedStarts} unacknowledged starts used; one more locks the vault`;
  throw new VaultError("guard", `not sent: it could lock vault ${record.uuid}: ${why}`, {
    uuid: record.uuid,
    hint: verdict.onlyPossibly
      ? `vault guard ${record.uuid} --reset --unanswered (if the audit log shows no failed attempt); vault guard ${record.uuid} --reset (after an administrator has unlocked the vault)`
      : `vault guard ${record.uuid} (shows the counters); vault guard ${record.uuid} --reset (after an administrator has unlocked the vault)`,
    spent: spentBy(record, policy),
  });
}

/** Whether only one failed attempt is left before the last: a person then chooses among several candidates. */
export const mustPersonChoose = ({ failedAttempts }: Counters, policy: Policy): boolean => failedAttempts + 2 >= policy.failedAttempts;

/**
 * Whether an unanswered start may be repeated automatically: never if it could be one of the last two before a lock, so that a
 * person still has one left that cannot lock the vault.
 */
export function allowsRetry(record: VaultRecord, policy: Policy): boolean {
  return record.unackedStarts + 1 <= policy.unackedStarts - 2 && !judge(record, policy).failedWouldLock;
}

/** @throws `guard` if the device has another browser or operating system than the one last accepted */
export function guardDevice(uuid: string, accepted: Device | null, device: Device | undefined): void {
  if (accepted === null || device === undefined) return;
  const differing = (["browserType", "osType"] as const).filter((key) => accepted[key] !== device[key]);
  if (differing.length === 0) return;
  const what = differing.map((key) => `${key} ${JSON.stringify(device[key])} instead of ${JSON.stringify(accepted[key])}`).join(", ");
  throw new VaultError("guard", `not sent: the device differs from the one that vault ${uuid} was read with: ${what}`, {
    uuid,
    hint: "leave --device out to send the accepted one, or use --force",
  });
}

/** The error for a combination of pair, hashedPin, device and kind that the service has refused before. */
export function refusedBeforeError({ uuid, provenAt }: VaultRecord, generation: number): VaultError {
  const since = provenAt === null ? "" : `. ${explainRefusal(provenAt)}`;
  return new VaultError("guard", `not sent: the service has refused generation ${generation} of vault ${uuid} before${since}`, {
    uuid,
    hint: `vault import ${uuid} --credentials @FILE (the right credentials)`,
  });
}

/** Explains why credentials that have worked are refused. */
export const explainRefusal = (provenAt: string): string =>
  `another machine or program has probably used this vault since ${provenAt}, when its credentials last worked here`;
