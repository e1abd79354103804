import { VaultError } from "../../errors.ts";
import { count, counting, countToCarry, withoutUnanswered } from "../../exchange/counting.ts";
import type { CounterReset } from "../../exchange/records.ts";
import { exchangeIn, forgotten, journal, nothingCarried, update, vaultOf } from "./rows.ts";
import type { VaultRows } from "./rows.ts";
import { command, noted } from "../../way.ts";

/** Each function implements the method of `VaultSession` by its name. */
export function markElsewhere(rows: VaultRows, generations: readonly number[]): void {
  vaultOf(rows);
  for (const row of rows.credentials)
    if (generations.includes(row.generation)) row.elsewhere = true;
  journal(rows, "handed-out", null, { generations });
}

export function resetCounters(rows: VaultRows, to: CounterReset): void {
  const vault = vaultOf(rows);
  const { unackedStarts, failedAttempts, possiblyFailed } = count(rows.exchanges, vault);
  if (to === "all") vault.lastError = null;
  if (to === "unanswered") {
    // None of them has arrived.
    const { starts, possibly } = counting(rows.exchanges, vault);
    for (const start of [...starts, ...possibly])
      if (start.outcome !== "success") start.outcome = "free";
    if (vault.carried !== null) vault.carried = withoutUnanswered(vault.carried);
  } else {
    const { unackedStarts: starts, failedAttempts: failed } =
      to === "all" ? { unackedStarts: 0, failedAttempts: 0 } : to;
    // What the audit log shows has reached the service: no later word may take it off again.
    update(vault, {
      carried: {
        ...countToCarry(rows.exchanges, vault),
        ...(starts === undefined ? {} : { unackedStarts: starts, unansweredStarts: 0 }),
        ...(failed === undefined ? {} : { failedAttempts: failed, possiblyFailed: 0 }),
      },
      carriedUpTo: rows.exchanges.at(-1)?.id ?? vault.carriedUpTo,
    });
  }
  journal(rows, "counters-reset", null, { to, unackedStarts, failedAttempts, possiblyFailed });
}

export function recordDeleted(rows: VaultRows, exchangeId: string): void {
  const {
    operation,
    externalRef,
    baseGeneration: generation,
  } = exchangeIn(rows, exchangeId, ["intent"]);
  journal(rows, "deleted", exchangeId, { operation, externalRef, generation });
  update(vaultOf(rows), nothingCarried);
  // It was not merely forgotten: a restore must not bring it back.
  update(vaultOf(rows), {
    ...forgotten,
    forgottenAt: rows.at,
    lastError: { at: rows.at, code: "gone", message: "deleted from here" },
  });
}

export function forget(rows: VaultRows): void {
  const vault = vaultOf(rows);
  const counters = countToCarry(rows.exchanges, vault);
  const isZero = Object.values(counters).every((n) => n === 0);
  // The exchange goes, its id stays: a restore elsewhere finds by it whether it counted this.
  const carriedUpTo = rows.exchanges.at(-1)?.id ?? vault.carriedUpTo;
  update(vault, { ...forgotten, forgottenAt: rows.at });
  update(vault, isZero ? nothingCarried : { carried: counters, carriedUpTo });
  journal(rows, "forgotten", null);
}

/** The error for a label that another vault has, which may not be known. */
export const labelTaken = (uuid: string, other?: string): VaultError =>
  new VaultError(
    "usage",
    `${other === undefined ? "another vault" : `vault ${other}`} already has this label; no label was changed`,
    {
      uuid: other ?? uuid,
      hint: "choose another label",
      next: [noted(command`vault label ${other ?? "VAULT"} TEXT`, "renames the one that has it")],
    },
  );

export function setLabel(rows: VaultRows, label: string): void {
  vaultOf(rows).label = label;
  journal(rows, "labelled", null, { label });
}
