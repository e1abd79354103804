import type { Actor } from "../../actor.ts";
import { VaultError } from "../../errors.ts";
import type { Seen } from "../../exchange/breaker.ts";
import type { Carried, CountedExchange, Counters } from "../../exchange/counting.ts";
import { count } from "../../exchange/counting.ts";
import type { Device } from "../../protocol/fields.ts";
import type {
  ErrorNote,
  ExchangeRecord,
  Generation,
  OpenExchange,
  VaultRecord,
} from "../../exchange/records.ts";
import { exchangeStates, openStates, type ExchangeState } from "../../exchange/states.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { command, noted } from "../../way.ts";

/** The vault that a step changes, and the time of the change. */
export interface Place {
  readonly service: string;
  /** In lower case. */
  readonly uuid: string;
  /** ISO 8601. */
  readonly at: string;
  /** Who changes it; undefined where it is only read, or merged. */
  readonly by?: Actor | undefined;
  /** The key that seals it; undefined where it is only read. */
  readonly key?: SealingKey | undefined;
}

/**
 * A vault for a step, read whole under the vault's lock. A step is a pure function: it edits a copy
 * of this, and adds journal entries. The engine writes it whole, or nothing if the step throws.
 */
export interface VaultRows extends Place {
  /** As it was read: it is written where the row still has this one. 0 if there is none. */
  readonly version: number;
  readonly since: Since;
  /** Null if not known. A vault that becomes `forgotten` loses its credentials and exchanges. */
  vault: VaultRow | null;
  /** Generations whose pair is kept, and those that `exchanges` name, by number. */
  credentials: CredentialsRow[];
  /** As `trim` leaves them; in the order in which they were begun or adopted. */
  exchanges: ExchangeRow[];
  /** Fingerprints of pairs ever superseded, among `credentials` and those given to the step. */
  superseded: Set<string>;
  /** Refused combinations, with the fingerprint of the pair if it is known. */
  refusals: Map<string, string | null>;
  /** What a start has seen of its circuit breaker: if that has changed, nothing is written. */
  seen: Seen | null;
  /** What the run keeps in which the exchange is begun that is new; `digest` is sealed. */
  begunIn: { digest: string | null; delivery: string | null } | null;
  journal: { event: string; exchange: string | null; detail: Record<string, unknown> }[];
}

/**
 * Numbers in `meta`, for all vaults: how often all credentials became known elsewhere (`copies`: a
 * backup, a claim, a failover), and how often none stayed proven (`doubts`: a claim, a failover).
 */
export interface Since {
  copies: number;
  doubts: number;
}

export const unknownVault = (
  { service, uuid, at, by, key }: Place,
  since: Since = { copies: 0, doubts: 0 },
): VaultRows => ({
  version: 0,
  since,
  service,
  uuid,
  at,
  by,
  key,
  vault: null,
  credentials: [],
  exchanges: [],
  superseded: new Set(),
  refusals: new Map(),
  seen: null,
  begunIn: null,
  journal: [],
});

/** What is stored of a vault besides its parts, but for its id. */
export interface VaultRow
  extends
    Omit<VaultRecord, "generations" | "open" | "last" | "exchanges" | keyof Counters>,
    Carried {
  lastGeneration: number;
  /** Expiry of the token of the start that last succeeded: the service's own time. */
  proofExpiry: string | null;
  forgotten: boolean;
  /** When it was last forgotten or deleted: what a machine kept until then is not wanted back. */
  forgottenAt: string | null;
}

/** `refused` is of this row alone. */
export interface CredentialsRow extends Omit<Generation, "sole"> {
  /** Null once it is no longer kept; empty where a list has left it out. */
  sealed: string | null;
  /** An end call for a successor may have been sent since these were last accepted. */
  ended: boolean;
}

export interface ExchangeRow extends ExchangeRecord, CountedExchange {
  /** Sealed; null before it is known and once it is of no use. */
  token: string | null;
  /** The run of many vaults in which it was begun. */
  run: string | null;
}

/** An exchange of which nothing is known but its beginning. */
export const begun = {
  newGeneration: null,
  token: null,
  tokenExpiry: null,
  usesRemaining: null,
  limited: false,
  holdReason: null,
  delivered: false,
  saveOwed: false,
  endsUnanswered: 0,
  acknowledgedAt: null,
  outcome: null,
  sole: false,
  adopted: false,
  run: null,
  given: null,
} satisfies Partial<ExchangeRow>;

/** @throws `no-credentials` if the vault is not known under this service */
export function vaultOf({ vault, service, uuid }: VaultRows): VaultRow {
  if (vault !== null) return vault;
  throw new VaultError(
    "no-credentials",
    `no credentials are known for vault ${uuid} at ${service}`,
    { uuid, next: [command`vault import ${uuid} --kind KIND --credentials @FILE`] },
  );
}

/** Columns of a forgotten vault, or a new one. Counters and the last generation remain. */
export const forgotten = {
  label: null,
  usesRemaining: null,
  limited: false,
  expiryDate: null,
  autoLockDate: null,
  dateCreated: null,
  lastModified: null,
  lastReadAt: null,
  lastError: null,
  forgotten: true,
  forgottenAt: null,
} satisfies Partial<VaultRow>;

/** Columns of a vault whose exchanges alone count toward lockout. */
export const nothingCarried = { carried: null, carriedUpTo: null } satisfies Carried;

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

/**
 * Records the last error of the vault. One that says nothing about the vault, like a network error,
 * does not replace `locked` or `gone`.
 */
export function noteError(rows: VaultRows, { code, message }: ErrorNote): void {
  const vault = vaultOf(rows);
  const last = vault.lastError?.code;
  if ((last === "locked" || last === "gone") && !["locked", "gone", "rejected"].includes(code))
    return;
  vault.lastError = { at: rows.at, code, message };
}

/** The error for a state that changed since the session locked the vault: another has the lock. */
export function lockLost(uuid: string, what: string): VaultError {
  return new VaultError(
    "state",
    `lost the lock of vault ${uuid} to another process (${what}); nothing more is sent`,
    { uuid, next: [command`vault status ${uuid}`], retry: "after-status" },
  );
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

export const findExchange = (
  { exchanges }: VaultRows,
  exchangeId: string,
): ExchangeRow | undefined => exchanges.find(({ id }) => id === exchangeId);

export const openExchangeOf = <Row extends ExchangeRecord>(rows: {
  exchanges: readonly Row[];
}): Row | undefined => rows.exchanges.find(({ state }) => openStates.includes(state));

/** @throws `state` unless it is in a state of `from`; `no-credentials` if the vault is unknown */
export function exchangeIn(
  rows: VaultRows,
  exchangeId: string,
  from: readonly ExchangeState[] = exchangeStates,
): ExchangeRow {
  vaultOf(rows);
  const row = findExchange(rows, exchangeId);
  if (row === undefined) throw lockLost(rows.uuid, `exchange ${exchangeId} is gone`);
  if (!from.includes(row.state))
    throw lockLost(rows.uuid, `exchange ${exchangeId} is ${row.state}, not ${from.join(" or ")}`);
  return row;
}

/** What exchanges see of a vault, without the store's own fields. Null if it is not known. */
export function vaultRecord({ vault, credentials, exchanges }: VaultRows): VaultRecord | null {
  if (vault === null) return null;
  const records = exchanges
    .map(({ token, run, outcome, sole, ...row }): ExchangeRecord => row)
    .toReversed();
  const { refusedSince, ...counters } = count(exchanges, vault);
  const { lastGeneration, proofExpiry, forgotten, forgottenAt, carried, carriedUpTo, ...known } =
    vault;
  return {
    ...known,
    ...counters,
    generations: credentials
      .filter(({ sealed }) => sealed !== null)
      .map(({ sealed, ended, ...row }) => ({
        ...row,
        // The same credentials may have been imported again.
        refused: credentials.some(
          ({ fingerprint, device, refused }) =>
            refused && fingerprint === row.fingerprint && isSameDevice(device, row.device),
        ),
        sole: row.proven && !row.elsewhere && !ended && !refusedSince,
      }))
      .toReversed(),
    open: (openExchangeOf({ exchanges: records }) ?? null) as OpenExchange | null,
    last: records[0] ?? null,
    exchanges: records,
  };
}

export const isSameDevice = (one: Device | null, other: Device | null): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
