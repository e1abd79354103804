import { VaultError } from "../../errors.ts";
import { countersLeft } from "../../exchange/lockout.ts";
import type { CounterReset } from "../../exchange/records.ts";
import type { VaultDates } from "../../protocol/extended-answers.ts";
import {
  exchangeIn,
  settleCounted,
  forgotten,
  journal,
  update,
  vaultOf,
  zeroCounters,
} from "./rows.ts";
import type { ExchangeRow, VaultRows } from "./rows.ts";
import { command } from "../../way.ts";

/** Each function implements the method of `VaultSession` by its name. */
export function markElsewhere(rows: VaultRows, generations: readonly number[]): void {
  vaultOf(rows);
  for (const row of rows.credentials)
    if (generations.includes(row.generation)) row.elsewhere = true;
  journal(rows, "handed-out", null, { generations });
}

export function resetCounters(rows: VaultRows, to: CounterReset): void {
  const vault = vaultOf(rows);
  const { unackedStarts, failedAttempts, possiblyFailed, unansweredStarts } = vault;
  update(vault, countersLeft(vault, to));
  if (to === "all") vault.lastError = null;
  // The last ones stay counted, as many as the audit log shows, where an exchange before them turns out to be acknowledged.
  const starts = rows.exchanges.filter((row) => row.countedStart === 1).toReversed();
  const withoutOutcome = ({ state }: ExchangeRow): boolean => state === "intent";
  if (to === "unanswered") settleCounted(starts.filter(withoutOutcome).slice(0, unansweredStarts));
  else if (to === "all" || to.unackedStarts !== undefined)
    settleCounted(starts.slice(vault.unackedStarts).filter(withoutOutcome));
  journal(rows, "counters-reset", null, { to, unackedStarts, failedAttempts, possiblyFailed });
}

export function recordDeleted(rows: VaultRows, exchangeId: string): void {
  const {
    operation,
    externalRef,
    baseGeneration: generation,
  } = exchangeIn(rows, exchangeId, ["intent"]);
  journal(rows, "deleted", exchangeId, { operation, externalRef, generation });
  update(vaultOf(rows), zeroCounters);
  // It was not merely forgotten: a restore must not bring it back.
  update(vaultOf(rows), {
    ...forgotten,
    lastError: { at: rows.at, code: "gone", message: "deleted from here" },
  });
}

export function noteDates(rows: VaultRows, dates: VaultDates): void {
  const { vault } = rows;
  if (vault === null || vault.forgotten) return;
  const now = {
    expiryDate: dates.expiryDate ?? vault.expiryDate,
    autoLockDate: dates.autoLockDate ?? vault.autoLockDate,
    dateCreated: dates.dateCreated ?? vault.dateCreated,
    lastModified: dates.lastModified ?? vault.lastModified,
  };
  // A monitor that asks every minute must not fill the journal.
  if (Object.entries(now).every(([column, date]) => vault[column as keyof typeof now] === date))
    return;
  update(vault, now);
  journal(rows, "info", null, { ...dates });
}

export function forget(rows: VaultRows): void {
  update(vaultOf(rows), forgotten);
  journal(rows, "forgotten", null);
}

/** The error for a label that another vault has, which may not be known. */
export const labelTaken = (uuid: string, other?: string): VaultError =>
  new VaultError(
    "usage",
    `${other === undefined ? "another vault" : `vault ${other}`} already has this label; nothing was changed`,
    {
      uuid: other ?? uuid,
      hint: "choose another label",
      next: [
        { ...command`vault label ${other ?? "VAULT"} TEXT`, note: "renames the one that has it" },
      ],
    },
  );

export function setLabel(rows: VaultRows, label: string): void {
  vaultOf(rows).label = label;
  journal(rows, "labelled", null, { label });
}
