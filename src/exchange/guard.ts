import { VaultError } from "../errors.ts";
import type { Device } from "../protocol/fields.ts";
import type { Policy } from "./lockout.ts";
import { isLastToWait, isLockedBy, mustPersonChoose, startRisk, spentBy } from "./lockout.ts";
import type { Generation, VaultRecord } from "./records.ts";
import { likely } from "./start/candidates.ts";
import type { Circumstances } from "./ways.ts";
import { choices, endedAtOnce, importOf, waysOn } from "./ways.ts";

/** @throws `guard` if one more start could lock the vault, by what dispositions.ts and the steps have counted */
export function guardStart(record: VaultRecord, circumstances: Circumstances): void {
  const { policy } = circumstances;
  const risk = startRisk(record, policy);
  if (risk.allows) return;
  const part = (is: boolean, count: number, unanswered: number, limit: string): string[] => {
    const uncertain = unanswered === 0 ? "" : ` (${unanswered} of them unanswered)`;
    return is ? [`${count} of ${limit} used${uncertain}`] : [];
  };
  const { failedAttempts, possiblyFailed, unackedStarts, unansweredStarts } = record;
  const failed = `${policy.failedAttempts} failed attempts`;
  const starts = `${policy.unackedStarts} unacknowledged starts`;
  const used = [
    ...part(risk.failedWouldLock, failedAttempts, possiblyFailed, failed),
    ...part(risk.unackedWouldLock, unackedStarts, unansweredStarts, starts),
  ].join(" and ");
  const message = isLockedBy(record, policy)
    ? `by the counters, vault ${record.uuid} is locked: ${used}`
    : `it could lock vault ${record.uuid}: ${used}; one more locks the vault`;
  throw new VaultError("guard", `not sent: ${message}`, {
    uuid: record.uuid,
    next: waysOn(record, circumstances),
    spent: spentBy(record, policy),
    by: record.last?.by ?? undefined,
  });
}

/** @throws `guard` if this start would be the last that is allowed, and its acknowledgement waits for something else */
export function guardLastStart(record: VaultRecord, policy: Policy): void {
  if (!isLastToWait(record, policy)) return;
  const { uuid, unackedStarts } = record;
  throw new VaultError(
    "guard",
    `not sent: ${unackedStarts} of ${policy.unackedStarts} unacknowledged starts used; the last that cannot lock the vault must be acknowledged at once`,
    { uuid, next: [endedAtOnce(record)], spent: spentBy(record, policy) },
  );
}

/** @throws `guard` if a person must choose among several pairs, all equally likely to be valid: neither older nor void ones */
export function guardChoice(
  record: VaultRecord,
  pairs: readonly { generation: number }[],
  circumstances: Circumstances,
): void {
  if (likely(among(record, pairs)).length > 1 && mustPersonChoose(record, circumstances.policy))
    throw personChooses(record, pairs, circumstances);
}

const among = (
  { generations }: VaultRecord,
  pairs: readonly { generation: number }[],
): Generation[] =>
  pairs.flatMap(({ generation }) => generations.filter((g) => g.generation === generation));

/** Exit 8, or 6 after a refusal, with the candidates among which a person must choose. */
export function personChooses(
  record: VaultRecord,
  pairs: readonly { generation: number }[],
  circumstances: Circumstances,
  refusal?: VaultError,
): VaultError {
  const { uuid, failedAttempts } = record;
  const left = among(record, pairs);
  const why = `${failedAttempts} failed ${failedAttempts === 1 ? "attempt is" : "attempts are"} on record, and several credentials may be valid: generations ${left
    .map((g) => `${g.generation} (${g.standing})`)
    .join(", ")}`;
  return new VaultError(
    refusal?.code ?? "guard",
    refusal === undefined ? `not sent: ${why}` : `${refusal.message}. ${why}`,
    {
      ...refusal?.facts,
      uuid,
      next: choices(record, left, circumstances),
    },
  );
}

/** @throws `guard` if the device has another browser or operating system than the one last accepted */
export function guardDevice(
  uuid: string,
  accepted: Device | null,
  device: Device | undefined,
): void {
  if (accepted === null || device === undefined) return;
  const differing = (["browserType", "osType"] as const).filter(
    (key) => accepted[key] !== device[key],
  );
  if (differing.length === 0) return;
  const what = differing
    .map(
      (key) => `${key} ${JSON.stringify(device[key])} instead of ${JSON.stringify(accepted[key])}`,
    )
    .join(", ");
  throw new VaultError(
    "guard",
    `not sent: the device differs from the one that vault ${uuid} was read with: ${what}`,
    {
      uuid,
      hint: "leave --device out to send the accepted one, or use --force",
    },
  );
}

/** The error for a combination of pair, hashedPin, device and kind that the service has refused before. */
export function refusedBeforeError(record: VaultRecord, generation: number): VaultError {
  const { uuid } = record;
  const why = explainRefusal(record);
  const since = why === null ? "" : `. ${why}`;
  return new VaultError(
    "guard",
    `not sent: the service has refused generation ${generation} of vault ${uuid} before${since}`,
    {
      uuid,
      next: [importOf(uuid)],
    },
  );
}

/** Explains why credentials that have worked are refused; null if none of those that were refused have worked. */
export const explainRefusal = ({ provenAt, generations }: VaultRecord): string | null =>
  provenAt !== null && generations.some(({ proven, refused }) => proven && refused)
    ? `another machine or program has probably used this vault since ${provenAt}, when its credentials last worked here`
    : null;
