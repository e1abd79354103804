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
  const { lastGeneration, proofExpiry, forgotten, forgottenAt, carried, carriedUpTo, ...known } =
    vault;
  return {
    ...known,
    ...counters,
    generations: credentials
      .filter(({ sealed }) => sealed !== null)
      .map((row) => generationRecord(row, refusedSince, credentials))
      .toReversed(),
    open: open === undefined ? null : (exchangeRecord(open) as OpenExchange),
    last: last === undefined ? null : exchangeRecord(last),
    exchanges: exchanges.map(exchangeRecord).toReversed(),
  };
}

function generationRecord(
  { sealed, ended, ...row }: CredentialsRow,
  refusedSince: boolean,
  all: readonly CredentialsRow[],
): Generation {
  return {
    ...row,
    // The same credentials may have been imported again.
    refused: all.some(
      ({ fingerprint, device, refused }) =>
        refused && fingerprint === row.fingerprint && isSameDevice(device, row.device),
    ),
    sole: row.proven && !row.elsewhere && !ended && !refusedSince,
  };
}

const exchangeRecord = ({ token, run, outcome, sole, ...row }: ExchangeRow): ExchangeRecord => row;

/** What a command with many vaults needs of one that is known: there may be many. */
export function vaultSummary({ last, exchanges, ...record }: VaultRecord): VaultSummary {
  const generations = record.generations.map(({ proven, device }) => ({ proven, device }));
  return { ...record, generations };
}
