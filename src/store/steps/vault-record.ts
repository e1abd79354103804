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
    unackedStarts: vault.unackedStarts,
    failedAttempts: vault.failedAttempts,
    possiblyFailed: vault.possiblyFailed,
    unansweredStarts: vault.unansweredStarts,
    quietStarts: vault.quietStarts,
    provenAt: vault.provenAt,
    usesRemaining: vault.usesRemaining,
    limited: vault.limited === 1,
    expiryDate: vault.expiryDate,
    autoLockDate: vault.autoLockDate,
    dateCreated: vault.dateCreated,
    lastModified: vault.lastModified,
    lastError: vault.lastError === null ? null : errorNote(vault.lastError),
    open: open === undefined ? null : (exchangeRecord(open) as OpenExchange),
    last: last === undefined ? null : exchangeRecord(last),
  };
}

export const summaryColumns = [
  "uuid",
  "label",
  "kind",
  "limited",
  "unackedStarts",
  "unansweredStarts",
  "failedAttempts",
  "possiblyFailed",
  "lastError",
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
  unackedStarts: row.unackedStarts,
  unansweredStarts: row.unansweredStarts,
  failedAttempts: row.failedAttempts,
  possiblyFailed: row.possiblyFailed,
  generations:
    (row.proven === null ? undefined : generations[row.proven]?.[row.has_device]) ?? none,
  lastError: row.lastError === null ? null : (errorNote(row.lastError)?.code ?? null),
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
  createdAt: row.createdAt,
  elsewhere: row.elsewhere === 1,
  // The same credentials may have been imported again.
  refused: all.some(
    ({ fingerprint, device, refused }) =>
      refused === 1 && fingerprint === row.fingerprint && device === row.device,
  ),
  sole: row.proven === 1 && row.elsewhere === 0 && row.ended === 0 && vault.refusedSince === 0,
  placed: row.placed,
});

export const exchangeRecord = (row: ExchangeRow): ExchangeRecord => ({
  id: row.id,
  operation: row.operation,
  kind: row.kind,
  state: row.state,
  externalRef: row.externalRef,
  baseGeneration: row.baseGeneration,
  newGeneration: row.newGeneration,
  startedAt: row.startedAt,
  tokenExpiry: row.tokenExpiry,
  usesRemaining: row.usesRemaining,
  limited: row.limited === 1,
  holdReason: row.holdReason,
  delivered: row.delivered === 1,
  saveOwed: row.saveOwed === 1,
  endsUnanswered: row.endsUnanswered,
  acknowledgedAt: row.acknowledgedAt,
  adopted: row.adopted === 1,
  given: row.given,
  by: row.by === null ? null : (JSON.parse(row.by) as Actor),
});
