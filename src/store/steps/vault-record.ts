import type { Actor } from "../../actor.ts";
import type {
  ExchangeRecord,
  Generation,
  OpenExchange,
  RunExchange,
  VaultRecord,
  VaultSummary,
} from "../../exchange/records.ts";
import type { Device } from "../../protocol/fields.ts";
import { openExchangeOf } from "./rows.ts";
import type { CredentialsRow, ExchangeRow, VaultRow, VaultRows } from "./rows.ts";

/** Converts the rows of a vault to the record that exchanges use. */
export function vaultRecord(
  vault: VaultRow,
  { credentials, exchanges }: Pick<VaultRows, "credentials" | "exchanges">,
): VaultRecord {
  const open = openExchangeOf({ exchanges });
  const last = exchanges.at(-1);
  return {
    service: vault.service,
    uuid: vault.uuid,
    kind: vault.kind,
    label: vault.label,
    generations: credentials
      .filter(({ sealed }) => sealed !== null)
      .map((row) => generationRecord(row, vault, credentials))
      .toReversed(),
    unackedStarts: vault.unacked_starts,
    failedAttempts: vault.failed_attempts,
    possiblyFailed: vault.possibly_failed,
    unansweredStarts: vault.unanswered_starts,
    quietStarts: vault.quiet_starts,
    provenAt: vault.proven_at,
    usesRemaining: vault.uses_remaining,
    limited: vault.limited === 1,
    expiryDate: vault.expiry_date,
    autoLockDate: vault.auto_lock_date,
    dateCreated: vault.date_created,
    lastModified: vault.last_modified,
    lastError: vault.last_error === null ? null : errorNote(vault.last_error),
    open: open === undefined ? null : (exchangeRecord(open) as OpenExchange),
    last: last === undefined ? null : exchangeRecord(last),
  };
}

export const summaryColumns = [
  "uuid",
  "label",
  "kind",
  "limited",
  "unacked_starts",
  "unanswered_starts",
  "failed_attempts",
  "possibly_failed",
  "last_error",
] as const satisfies (keyof VaultRow)[];

/** `proven` and `has_device` are of all credentials that are kept; without any, `proven` is null. */
export type SummaryRow = Pick<VaultRow, (typeof summaryColumns)[number]> & {
  proven: number | null;
  has_device: number;
};

/** Shared by many vaults. */
const generations = [0, 1].map((proven) =>
  [0, 1].map((device) => [{ proven: proven === 1, device: device === 1 ? true : null }]),
);
const none: VaultSummary["generations"] = [];

/** What a list of many vaults needs of one. */
export const vaultSummary = (row: SummaryRow, open: ExchangeRow | undefined): VaultSummary => ({
  uuid: row.uuid,
  label: row.label,
  kind: row.kind,
  limited: row.limited === 1,
  unackedStarts: row.unacked_starts,
  unansweredStarts: row.unanswered_starts,
  failedAttempts: row.failed_attempts,
  possiblyFailed: row.possibly_failed,
  generations:
    (row.proven === null ? undefined : generations[row.proven]?.[row.has_device]) ?? none,
  lastError: row.last_error === null ? null : (errorNote(row.last_error)?.code ?? null),
  open: open === undefined ? null : (exchangeRecord(open) as OpenExchange),
});

export const runExchange = (
  row: ExchangeRow & { uuid: string },
  digest: string | null,
): RunExchange => ({
  uuid: row.uuid,
  operation: row.operation,
  state: row.state,
  digest,
  delivery: row.delivery,
});

const errorNote = (json: string): VaultRecord["lastError"] =>
  JSON.parse(json) as VaultRecord["lastError"];

const generationRecord = (
  row: CredentialsRow,
  vault: VaultRow,
  all: readonly CredentialsRow[],
): Generation => ({
  generation: row.generation,
  standing: row.standing,
  proven: row.proven === 1,
  fingerprint: row.fingerprint,
  device: row.device === null ? null : (JSON.parse(row.device) as Device),
  createdAt: row.created_at,
  elsewhere: row.elsewhere === 1,
  // The same credentials may have been imported again.
  refused: all.some(
    ({ fingerprint, device, refused }) =>
      refused === 1 && fingerprint === row.fingerprint && device === row.device,
  ),
  sole: row.proven === 1 && row.elsewhere === 0 && row.ended === 0 && vault.refused_since === 0,
  placed: row.placed,
});

export const exchangeRecord = (row: ExchangeRow): ExchangeRecord => ({
  id: row.id,
  operation: row.operation,
  kind: row.kind,
  state: row.state,
  externalRef: row.external_ref,
  baseGeneration: row.base_generation,
  newGeneration: row.new_generation,
  startedAt: row.started_at,
  tokenExpiry: row.token_expiry,
  usesRemaining: row.uses_remaining,
  limited: row.limited === 1,
  holdReason: row.hold_reason,
  delivered: row.delivered === 1,
  saveOwed: row.save_owed === 1,
  endsUnanswered: row.ends_unanswered,
  acknowledgedAt: row.acknowledged_at,
  adopted: row.adopted === 1,
  given: row.given,
  by: row.begun_by === null ? null : (JSON.parse(row.begun_by) as Actor),
});
