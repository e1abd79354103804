import { count } from "../exchange/counting.ts";
import type {
  ExchangeRecord,
  Generation,
  OpenExchange,
  VaultRecord,
  VaultSummary,
} from "../exchange/records.ts";
import { isSameDevice } from "./steps/generations.ts";
import type { CredentialsRow, ExchangeRow, VaultRows } from "./steps/rows.ts";
import { openExchangeOf } from "./steps/rows.ts";

/** What exchanges see of a vault: without what the store keeps for itself. Null if it is not known. */
export function vaultRecord({ vault, credentials, exchanges }: VaultRows): VaultRecord | null {
  if (vault === null) return null;
  const open = openExchangeOf({ exchanges });
  const last = exchanges.at(-1);
  const { refusedSince, ...counters } = count(exchanges, vault);
  return {
    service: vault.service,
    uuid: vault.uuid,
    kind: vault.kind,
    label: vault.label,
    generations: credentials
      .filter(({ sealed }) => sealed !== null)
      .map((row) => generationRecord(row, refusedSince, credentials))
      .toReversed(),
    ...counters,
    provenAt: vault.provenAt,
    lastReadAt: vault.lastReadAt,
    usesRemaining: vault.usesRemaining,
    limited: vault.limited,
    expiryDate: vault.expiryDate,
    autoLockDate: vault.autoLockDate,
    dateCreated: vault.dateCreated,
    lastModified: vault.lastModified,
    lastError: vault.lastError,
    open: open === undefined ? null : (exchangeRecord(open) as OpenExchange),
    last: last === undefined ? null : exchangeRecord(last),
    exchanges: exchanges.map(exchangeRecord).toReversed(),
  };
}

const generationRecord = (
  row: CredentialsRow,
  refusedSince: boolean,
  all: readonly CredentialsRow[],
): Generation => ({
  generation: row.generation,
  standing: row.standing,
  proven: row.proven,
  fingerprint: row.fingerprint,
  device: row.device,
  createdAt: row.createdAt,
  elsewhere: row.elsewhere,
  // The same credentials may have been imported again.
  refused: all.some(
    ({ fingerprint, device, refused }) =>
      refused && fingerprint === row.fingerprint && isSameDevice(device, row.device),
  ),
  sole: row.proven && !row.elsewhere && !row.ended && !refusedSince,
  placed: row.placed,
});

const exchangeRecord = (row: ExchangeRow): ExchangeRecord => ({
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
  limited: row.limited,
  holdReason: row.holdReason,
  delivered: row.delivered,
  saveOwed: row.saveOwed,
  endsUnanswered: row.endsUnanswered,
  acknowledgedAt: row.acknowledgedAt,
  adopted: row.adopted,
  given: row.given,
  by: row.by,
});

/** Shared by many vaults. */
const generations = [false, true].map((proven) =>
  [null, true].map((device) => [{ proven, device }]),
);
const none: VaultSummary["generations"] = [];

/** What a command with many vaults needs of one that is known: there may be many. */
export function vaultSummary(record: VaultRecord): VaultSummary {
  const { generations: kept, lastError } = record;
  const [isProven, hasDevice] = [
    kept.some(({ proven }) => proven),
    kept.some(({ device }) => device !== null),
  ];
  return {
    uuid: record.uuid,
    label: record.label,
    kind: record.kind,
    limited: record.limited,
    unackedStarts: record.unackedStarts,
    unansweredStarts: record.unansweredStarts,
    failedAttempts: record.failedAttempts,
    possiblyFailed: record.possiblyFailed,
    generations:
      kept.length === 0 ? none : (generations[Number(isProven)]?.[Number(hasDevice)] ?? none),
    lastError: lastError?.code ?? null,
    open: record.open,
  };
}
