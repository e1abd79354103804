import type { Actor } from "../../actor.ts";
import { VaultError } from "../../errors.ts";
import type { Seen } from "../../exchange/breaker.ts";
import type { Carried, CountedExchange, Counters } from "../../exchange/counting.ts";
import { count, counting } from "../../exchange/counting.ts";
import { bareCredentials, isLive, noCredentials } from "../../exchange/records.ts";
import type {
  ErrorNote,
  ExchangeRecord,
  Generation,
  OpenExchange,
  Placed,
  Started,
  VaultRecord,
} from "../../exchange/records.ts";
import { exchangeStates, openStates, type ExchangeState } from "../../exchange/states.ts";
import type { Device } from "../../protocol/fields.ts";
import { fingerprint } from "../../protocol/fingerprint.ts";
import type { Credentials } from "../../protocol/requests.ts";
import { seal, unseal, type SealingKey, type VaultPlace } from "../../secrets/sealing.ts";
import { command, noted } from "../../way.ts";
import type { JournalEntry } from "../tables.ts";

/** The vault that sealed values are bound to. */
export interface Owner {
  readonly service: string;
  /** In lower case. */
  readonly uuid: string;
}

export const placeOf = (
  { service, uuid }: Owner,
  column: VaultPlace["column"],
  row: string | number,
): VaultPlace => ({ service, uuid, column, row: String(row) });

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
  /** Null once it is no longer kept; empty if a list has left it out. */
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

/**
 * Numbers in `meta`, for all vaults: how often all credentials became known elsewhere (`copies`: a
 * backup, a claim, a failover), and how often none stayed proven (`doubts`: a claim, a failover).
 */
export interface Since {
  copies: number;
  doubts: number;
}

/** What is known of a vault's rows when they are made; without the rest, the vault is not known. */
type Given = Owner & Partial<Omit<VaultRows, keyof Owner>> & Pick<VaultRows, "at">;

/** Number of exchanges that a document keeps in any case. */
const keptExchanges = 5;

/**
 * A vault for a step, read whole under the vault's lock. A step is a pure function: it edits a copy
 * of this, and adds journal entries. The engine writes it whole, or nothing if the step throws.
 */
export class VaultRows implements Owner {
  readonly service!: string;
  readonly uuid!: string;
  /** The time of the change, ISO 8601. */
  readonly at!: string;
  /** Who changes it; undefined if it is only read, or merged. */
  readonly by: Actor | undefined;
  /** The key that seals it; undefined if it is only read. */
  readonly key: SealingKey | undefined;
  /** As it was read: it is written if the row still has this one. 0 if there is none. */
  readonly version: number = 0;
  readonly since: Since = { copies: 0, doubts: 0 };
  /** Null if not known. A vault that becomes `forgotten` loses its credentials and exchanges. */
  vault: VaultRow | null = null;
  /** Generations whose pair is kept, and those that `exchanges` name, by number. */
  credentials: CredentialsRow[] = [];
  /** As `trim` leaves them; in the order in which they were begun or adopted. */
  exchanges: ExchangeRow[] = [];
  /** Fingerprints of pairs ever superseded, among `credentials` and those given to the step. */
  superseded = new Set<string>();
  /** Refused combinations, with the fingerprint of the pair if it is known. */
  refusals = new Map<string, string | null>();
  /** What a start has seen of its circuit breaker: if that has changed, nothing is written. */
  seen: Seen | null = null;
  /** What the run keeps in which the exchange is begun that is new; `digest` is sealed. */
  begunIn: { digest: string | null; delivery: string | null } | null = null;
  journal: JournalEntry[] = [];

  constructor(given: Given) {
    Object.assign(this, given);
  }

  /** The same rows, but for some of its values. */
  with(others: Partial<Given>): VaultRows {
    return Object.assign(new VaultRows(this), others);
  }

  /** A copy for a step to edit. */
  copy(): VaultRows {
    const { vault, credentials, exchanges, superseded, refusals } = this;
    const parts = structuredClone({ vault, credentials, exchanges, superseded, refusals });
    return this.with({ ...parts, journal: [] });
  }

  /** @throws `no-credentials` if the vault is not known under this service */
  get known(): VaultRow {
    if (this.vault === null) throw noCredentials(this.uuid);
    return this.vault;
  }

  get open(): ExchangeRow | undefined {
    return openIn(this.exchanges);
  }

  exchange(id: string): ExchangeRow | undefined {
    return this.exchanges.find((row) => row.id === id);
  }

  /** @throws `state` unless it is in a state of `from`; `no-credentials` if the vault is unknown */
  exchangeIn(id: string, from: readonly ExchangeState[] = exchangeStates): ExchangeRow {
    const { uuid } = this.known;
    const row = this.exchange(id);
    if (row === undefined) throw lockLost(uuid, `exchange ${id} is gone`);
    if (!from.includes(row.state))
      throw lockLost(uuid, `exchange ${id} is ${row.state}, not ${from.join(" or ")}`);
    return row;
  }

  generation(number: number | null | undefined): CredentialsRow | undefined {
    return this.credentials.find((row) => row.generation === number);
  }

  /** @throws `state` if the generation is no longer kept, `no-credentials` for an unknown vault */
  kept(number: number | null): CredentialsRow {
    const { uuid } = this.known;
    const row = this.generation(number);
    if (row === undefined || row.sealed === null)
      throw new VaultError(
        "state",
        `generation ${number} of vault ${uuid} is not stored in this state`,
        { uuid, next: [command`vault status ${uuid} --history`] },
      );
    return row;
  }

  /** The newest live generation with this fingerprint. */
  live(print: string): CredentialsRow | undefined {
    return this.credentials.findLast((row) => row.fingerprint === print && isLive(row));
  }

  /** Whether a pair was superseded, and has not come back to life. */
  isSpent(print: string): boolean {
    return this.superseded.has(print) && this.live(print) === undefined;
  }

  /** Adds a journal entry; `detail` never holds a secret. */
  log(event: string, exchange: string | null, detail: Record<string, unknown> = {}): void {
    const { at, service, uuid, by } = this;
    this.journal.push({ at, service, uuid, event, exchange, detail: { ...detail, by } });
  }

  /**
   * Records the last error of the vault. One that says nothing about the vault, like a network error,
   * does not replace `locked` or `gone`.
   */
  noteError({ code, message }: ErrorNote): void {
    const last = this.known.lastError?.code;
    if ((last === "locked" || last === "gone") && !["locked", "gone", "rejected"].includes(code))
      return;
    this.known.lastError = { at: this.at, code, message };
  }

  get sealing(): SealingKey {
    if (this.key === undefined) throw new TypeError("a vault that is only read seals nothing");
    return this.key;
  }

  /** Seals a pair or a token as JSON: a lone surrogate in a token has no form in UTF-8. */
  seal(column: VaultPlace["column"], row: string | number, value: Credentials | string): string {
    return seal(this.sealing, placeOf(this, column, row), JSON.stringify(value));
  }

  /** The pair of a generation that is kept. @throws `state` if the key does not open it */
  openPair({ generation, sealed }: CredentialsRow, key = this.sealing): Credentials {
    const place = placeOf(this, "credentials.sealed", generation);
    return JSON.parse(unseal(key, place, sealed ?? "")) as Credentials;
  }

  /** @throws `state` if the exchange has no token, or the key does not open it */
  openToken({ id, state, token: sealed }: ExchangeRow, key = this.sealing): string {
    if (sealed === null) throw lockLost(this.uuid, `exchange ${id} has no token: it is ${state}`);
    const token = unseal(key, placeOf(this, "exchanges.token", id), sealed);
    // Version 0.2.0 sealed it as it is.
    return token.startsWith('"') ? (JSON.parse(token) as string) : token;
  }

  /** Adds a pair under the next number, which this vault has never used. Returns the row. */
  add(
    credentials: Credentials,
    given: Pick<CredentialsRow, "standing" | "device" | "elsewhere"> & { placed?: Placed | null },
  ): CredentialsRow {
    const { known: vault } = this;
    const generation = (vault.lastGeneration += 1);
    // The error of a forgotten vault says that it was deleted; with credentials it is another one.
    if (vault.forgotten) update(vault, { forgotten: false, lastError: null });
    const row: CredentialsRow = {
      placed: null,
      ...given,
      generation,
      proven: false,
      sealed: this.seal("credentials.sealed", generation, credentials),
      fingerprint: fingerprint(this.uuid, credentials),
      createdAt: this.at,
      refused: false,
      ended: false,
    };
    this.credentials.push(row);
    return row;
  }

  updateSentWith(
    row: CredentialsRow,
    { hashedPin, device }: Pick<Started, "device" | "hashedPin">,
  ): void {
    if (device !== undefined) row.device = device;
    if (hashedPin === undefined) return;
    const credentials = this.openPair(row);
    if (credentials.hashedPin === hashedPin) return;
    const renewed = bareCredentials({ ...credentials, hashedPin });
    row.sealed = this.seal("credentials.sealed", row.generation, renewed);
  }

  /** Clears the refusals of a pair, which may be valid by now. */
  forgetRefusal({ fingerprint: print }: CredentialsRow): void {
    for (const row of this.credentials) if (row.fingerprint === print) row.refused = false;
    for (const [combination, refused] of this.refusals)
      if (refused === print) this.refusals.delete(combination);
  }

  /**
   * Marks that the vault may have changed since it was written: no pair is proven, an exchange may
   * have been acknowledged. With a live token its end call asks the service; else it is in doubt.
   */
  doubt(): void {
    const { open } = this;
    for (const row of this.credentials) update(row, { proven: false, elsewhere: true });
    if (open === undefined) return;
    open.endsUnanswered += 1;
    const isDead = open.tokenExpiry !== null && Date.parse(open.tokenExpiry) <= Date.parse(this.at);
    if (!isDead || !["started", "held"].includes(open.state)) return;
    open.state = "in-doubt";
    this.noteError({
      code: "in-doubt",
      message: "the state was set back or copied; the exchange may have been acknowledged since",
    });
  }

  /**
   * Drops what a document need not hold. Keeps each exchange that counts, with the one that ends what
   * came before; the open one; a dropped or expired one whose new pair may be live; the last five.
   * Keeps generations whose pair is kept or that an exchange names.
   */
  trim(): void {
    const { vault, exchanges, open } = this;
    if (vault === null) return;
    if (vault.forgotten) [this.credentials, this.exchanges] = [[], []];
    const { acknowledged } = counting(exchanges, vault);
    this.exchanges = this.exchanges.filter(
      (row, at) =>
        at >= exchanges.length - keptExchanges ||
        row === open ||
        row.id === vault.carriedUpTo ||
        this.generation(row.newGeneration)?.standing === "void" ||
        at === acknowledged ||
        (at > acknowledged && row.outcome !== "free"),
    );
    const named = new Set(this.exchanges.flatMap((row) => [row.baseGeneration, row.newGeneration]));
    this.credentials = this.credentials.filter(
      ({ sealed, generation }) => sealed !== null || named.has(generation),
    );
  }

  /** What exchanges see of a vault, without the store's own fields. Null if it is not known. */
  record(): VaultRecord | null {
    const { vault, credentials, exchanges } = this;
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
      open: (openIn(records) ?? null) as OpenExchange | null,
      last: records[0] ?? null,
      exchanges: records,
    };
  }
}

export const openIn = <Row extends Pick<ExchangeRecord, "state">>(
  exchanges: readonly Row[],
): Row | undefined => exchanges.find(({ state }) => openStates.includes(state));

export const isSameDevice = (one: Device | null, other: Device | null): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

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
