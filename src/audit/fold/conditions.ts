import type { LockRule } from "../report/report.ts";
import type { VaultRecords } from "./vault-records.ts";
import { intField } from "./vault-records.ts";

/** Conditions of a vault; its record has the index. */
export const conditions = ["active", "locked", "deleted"] as const;

export type Condition = (typeof conditions)[number];

export const active = 0;
export const locked = 1;
export const deleted = 2;

/** Lock rules; the record of a locked vault has the index. */
export const lockRules: readonly LockRule[] = [
  "failed-accesses",
  "unacknowledged-starts",
  "expired-invalid-start",
  "auto-lock",
  "administrator",
  "unseen",
];

export const conditionOf = (records: VaultRecords, vault: number): Condition =>
  conditions[records.getInt(vault, intField.condition)] as Condition;

/** Returns the rule that locked a locked vault. */
export const ruleOf = (records: VaultRecords, vault: number): LockRule => lockRules[records.getInt(vault, intField.rule)] as LockRule;
