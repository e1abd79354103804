import type { Actor } from "../../actor.ts";
import { VaultError } from "../../errors.ts";
import type { Seen } from "../../exchange/breaker.ts";
import type { ErrorNote, JournalledOperation, Placed, Standing } from "../../exchange/records.ts";
import type { ExchangeState, HoldReason } from "../../exchange/states.ts";
import { openStates } from "../../exchange/states.ts";
import type { Kind } from "../../protocol/endpoints.ts";

/** The vault that a step changes, and the time of the change. */
export interface Place {
  /** The id of a state that several machines share, to which sealed values are bound. */
  readonly state?: string | undefined;
  readonly service: string;
  /** In lower case. */
  readonly uuid: string;
  /** ISO 8601. */
  readonly at: string;
  /** Who changes it; undefined where it is only read, or merged. */
  readonly by?: Actor | undefined;
}

/**
 * The rows of a vault that a step sees, read under the vault's lock. A step is a pure function: it edits these rows, which are a
 * copy, and adds journal entries. The engine writes what differs in one transaction, or nothing if the step throws.
 */
export interface VaultRows extends Place {
  /** Null if the vault is not known. A vault that becomes `forgotten` loses its credentials and exchanges. */
  vault: VaultRow | null;
  /** Generations whose pair is kept, and those that `exchanges` name, by number. */
  credentials: CredentialsRow[];
  /** Open exchanges and intents, the newest one, the one that the step names, and expired ones since the last successful start; oldest first. */
  exchanges: ExchangeRow[];
  /** Fingerprints of superseded pairs, among those of `credentials` and those that the step names. */
  superseded: Set<string>;
  /** Refused combinations, with the fingerprint of the pair if it is known. */
  refusals: Map<string, string | null>;
  /** What a start has seen of the circuit breaker of its service: nothing is written if that has changed. */
  seen: Seen | null;
  journal: { event: string; exchange: string | null; detail: Record<string, unknown> }[];
}

/** Who changes the rows, for a column. */
export const changedBy = ({ by }: Place): string | null =>
  by === undefined ? null : JSON.stringify(by);

/** A copy that a step may edit. A row has plain values alone. */
export const copyOf = (rows: VaultRows): VaultRows => ({
  ...rows,
  vault: rows.vault && { ...rows.vault },
  credentials: rows.credentials.map((row) => ({ ...row })),
  exchanges: rows.exchanges.map((row) => ({ ...row })),
  superseded: new Set(rows.superseded),
  refusals: new Map(rows.refusals),
  journal: [...rows.journal],
});

/** Condition on the rows of the vaults that `Store.list` returns. */
export const isListed = "(forgotten = 0 OR unacked_starts > 0 OR failed_attempts > 0)";

/** A row of the schema without its id. Booleans are 0 and 1, objects are JSON text. */
export interface VaultRow {
  service: string;
  uuid: string;
  kind: Kind;
  label: string | null;
  last_generation: number;
  unacked_starts: number;
  failed_attempts: number;
  possibly_failed: number;
  unanswered_starts: number;
  quiet_starts: number;
  refused_since: number;
  proven_at: string | null;
  proof_expiry: string | null;
  uses_remaining: number | null;
  limited: number;
  expiry_date: string | null;
  auto_lock_date: string | null;
  date_created: string | null;
  last_modified: string | null;
  last_error: string | null;
  forgotten: number;
}

export interface CredentialsRow {
  generation: number;
  standing: Standing;
  proven: number;
  sealed: string | null;
  fingerprint: string;
  device: string | null;
  created_at: string;
  elsewhere: number;
  refused: number;
  placed: Placed | null;
  ended: number;
}

export interface ExchangeRow {
  id: string;
  operation: JournalledOperation;
  kind: Kind;
  state: ExchangeState;
  external_ref: string;
  base_generation: number;
  new_generation: number | null;
  started_at: string;
  token: string | null;
  token_expiry: string | null;
  uses_remaining: number | null;
  limited: number;
  hold_reason: HoldReason | null;
  delivered: number;
  save_owed: number;
  ends_unanswered: number;
  acknowledged_at: string | null;
  counted_start: number;
  counted_failed: number;
  adopted: number;
  run: string | null;
  digest: string | null;
  given: string | null;
  delivery: string | null;
  begun_by: string | null;
}

/** @throws `no-credentials` if the vault is not known under this service */
export function vaultOf({ vault, service, uuid }: VaultRows): VaultRow {
  if (vault !== null) return vault;
  throw new VaultError(
    "no-credentials",
    `no credentials are known for vault ${uuid} at ${service}`,
    {
      uuid,
      hint: `vault import ${uuid} --kind KIND --credentials @FILE`,
    },
  );
}

/** Columns of a vault that is forgotten, as a new one is until it has credentials. The counters and the last generation remain. */
export const forgotten = {
  label: null,
  uses_remaining: null,
  limited: 0,
  expiry_date: null,
  auto_lock_date: null,
  date_created: null,
  last_modified: null,
  last_error: null,
  forgotten: 1,
} satisfies Partial<VaultRow>;

/** Columns of a vault that counts nothing toward lockout. */
export const zeroCounters = {
  unacked_starts: 0,
  unanswered_starts: 0,
  quiet_starts: 0,
  failed_attempts: 0,
  possibly_failed: 0,
  refused_since: 0,
} satisfies Partial<VaultRow>;

/** The row of the vault, created if there is none. */
export function knownVault(rows: VaultRows, kind: Kind): VaultRow {
  rows.vault ??= {
    service: rows.service,
    uuid: rows.uuid,
    kind,
    last_generation: 0,
    ...zeroCounters,
    proven_at: null,
    proof_expiry: null,
    ...forgotten,
  };
  return rows.vault;
}

/** Sets some columns of a row, with their types checked. */
export function update<Row extends object>(row: Row, columns: NoInfer<Partial<Row>>): void {
  Object.assign(row, columns);
}

/** Adds a journal entry; `detail` never holds a secret. */
export function journal(
  rows: VaultRows,
  event: string,
  exchange: string | null,
  detail: Record<string, unknown> = {},
): void {
  rows.journal.push({ event, exchange, detail });
}

/** Code of the last error; a vault that was deleted here has `gone`. */
export const errorCode = ({ last_error: error }: Pick<VaultRow, "last_error">): string | null =>
  error === null ? null : (JSON.parse(error) as ErrorNote).code;

/**
 * Records the last error of the vault. An error that says nothing about the vault, like one of the network, does not replace
 * `locked` or `gone`.
 */
export function noteError(rows: VaultRows, { code, message }: ErrorNote): void {
  const vault = vaultOf(rows);
  const last = errorCode(vault);
  if ((last === "locked" || last === "gone") && !["locked", "gone", "rejected"].includes(code))
    return;
  vault.last_error = JSON.stringify({ at: rows.at, code, message });
}

/** The error for a state that has changed since the session locked the vault: another process has the lock. */
export function lockLost(uuid: string, what: string): VaultError {
  return new VaultError(
    "state",
    `lost the lock of vault ${uuid} to another process (${what}); nothing more is sent`,
    {
      uuid,
      hint: `vault status ${uuid}`,
      retry: "after-status",
    },
  );
}

/** States after which nothing more happens, and the token is useless. */
type FinalState = "acknowledged" | "expired" | "discarded" | "rejected";

export const findExchange = (
  { exchanges }: VaultRows,
  exchangeId: string,
): ExchangeRow | undefined => exchanges.find(({ id }) => id === exchangeId);

export const openExchangeOf = ({
  exchanges,
}: Pick<VaultRows, "exchanges">): ExchangeRow | undefined =>
  exchanges.find(({ state }) => openStates.includes(state));

/** @throws `state` unless the exchange exists and is in one of the states `from`; `no-credentials` if the vault is not known */
export function exchangeIn(
  rows: VaultRows,
  exchangeId: string,
  from: readonly ExchangeState[],
): ExchangeRow {
  vaultOf(rows);
  const row = findExchange(rows, exchangeId);
  if (row === undefined) throw lockLost(rows.uuid, `exchange ${exchangeId} is gone`);
  if (!from.includes(row.state))
    throw lockLost(rows.uuid, `exchange ${exchangeId} is ${row.state}, not ${from.join(" or ")}`);
  return row;
}

/** Ends an exchange, with a journal entry, and erases its token. */
export function endExchange(
  rows: VaultRows,
  row: ExchangeRow,
  state: FinalState,
  detail: Record<string, unknown> = {},
): void {
  journal(rows, state, row.id, { from: row.state, ...detail });
  update(row, { state, token: null, acknowledged_at: state === "acknowledged" ? rows.at : null });
}

/** Zeroes the starts up to an exchange that the service has acknowledged; those after it still count. */
export function zeroStarts(rows: VaultRows, acknowledged: ExchangeRow): void {
  const last = rows.exchanges.indexOf(acknowledged);
  settleCounted(rows.exchanges.slice(0, last + 1));
  const later = rows.exchanges.slice(last + 1).filter((row) => row.counted_start === 1);
  const vault = vaultOf(rows);
  // Fewer where a person has said meanwhile that some have reached the service.
  const unanswered = Math.min(
    vault.unanswered_starts,
    later.filter(({ state }) => state === "intent").length,
  );
  update(vault, { unacked_starts: later.length, unanswered_starts: unanswered });
}

/** Makes sure that these exchanges take back nothing of the counters, which do not have them any more. */
export function settleCounted(exchanges: readonly ExchangeRow[]): void {
  for (const row of exchanges) update(row, { counted_start: 0, counted_failed: 0 });
}
