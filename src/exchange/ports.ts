import type { Kind, Operation } from "../protocol/endpoints.ts";
import type { Answer, Pair } from "../protocol/answers.ts";
import type { VaultDates } from "../protocol/extended-answers.ts";
import type { Device, Metadata } from "../protocol/fields.ts";
import type {
  AdoptedExchange,
  AdoptionOutcome,
  Attempts,
  CreatedVault,
  Creation,
  Credentials,
  ErrorNote,
  LeftCreation,
  ExchangeRecord,
  Intent,
  NewPair,
  Started,
  VaultRecord,
} from "./records.ts";
import type { HoldReason } from "./states.ts";

/** What the exchange asks of the world. Everything here is implemented outside, and named only by the composition. */

/** Time in milliseconds since the epoch, and waiting that ends early (rejects with the signal's reason) when aborted. */
export interface Clock {
  now(): number;
  /** Milliseconds since some moment, whatever becomes of the system's clock meanwhile: what deadlines are measured in. */
  elapsed(): number;
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** New exchange ids: 26 characters that sort by time of creation (ULID). */
export interface Ids {
  /** Sorts behind `after`, the vault's newest one so far. */
  next(after?: string): string;
}

export interface StartCall {
  uuid: string;
  kind: Kind;
  operation: Operation;
  externalRef: string;
  credentials: Credentials;
  /** Online vaults only. */
  device?: Device | undefined;
  /** Updates only: `newVault` as the interface has it. */
  newVault?: Record<string, unknown> | undefined;
}

export interface EndCall {
  uuid: string;
  kind: Kind;
  operation: Operation;
  token: string;
}

/** A call outside of an exchange (extended operations). */
export type SingleCall =
  | { operation: "info"; kind: Kind; uuid: string }
  | { operation: "delete"; kind: Kind; uuid: string; externalRef: string; credentials: Credentials; device?: Device | undefined }
  | {
      operation: "create";
      kind: Kind;
      externalRef: string;
      /** Card or content, hashedPin, maxUsage, expiryDate: as the interface has it. */
      vault: Record<string, unknown>;
      device?: Device | undefined;
      metadata?: Metadata | undefined;
    };

/** Every way a call can end. Nothing is thrown for a failure of the network or of the service. */
export type Reply =
  /** No connection was made, or the call was given up before a byte of it was written: it surely did not arrive. */
  | { type: "not-sent"; cause: string; hint?: string | undefined }
  /**
   * At least a byte was written and no whole JSON answer came back: it may have been processed. 5xx is one of these.
   * `tooLarge`: there was an answer, more than is read; another call would meet the same.
   */
  | { type: "no-answer"; cause: string; httpStatus?: number | undefined; answer?: Answer | undefined; tooLarge?: true }
  | { type: "answer"; answer: Answer };

/** The client of the service. It never retries and never follows a redirect: each start counts. */
export interface Service {
  /**
   * Waits for a place under the rate limit, and for what a call about a vault of this kind needs besides; to be called before ①
   * and before each call. Rejects if aborted, and with `rate-limited`, at once, if the place would come after `deadline`.
   */
  admit(kind: Kind, signal: AbortSignal, deadline?: number): Promise<void>;
  /** Aborting gives the call up: `not-sent` if nothing was written yet, else `no-answer`. */
  start(call: StartCall, signal: AbortSignal): Promise<Reply>;
  end(call: EndCall, signal: AbortSignal): Promise<Reply>;
  single(call: SingleCall, signal: AbortSignal): Promise<Reply>;
}

/**
 * One vault, held: no other process can hold it until `release`. Each writing method is one transaction, durable
 * (synced) before it resolves unless it says otherwise, conditional on the exchange, the state it comes from and the
 * epoch of this lock: if no row changed it throws `state` and nothing may be sent any more. All throw `state` when the
 * database cannot be read or written, and append to the journal what they did.
 */
export interface VaultSession {
  readonly service: string;
  readonly uuid: string;
  /** The vault as it is now, or null if this service's vault is not known. */
  read(): Promise<VaultRecord | null>;
  /** Unsealed; throws `state` if the key does not fit or the pair is no longer kept. */
  credentials(generation: number): Promise<Credentials>;
  token(exchangeId: string): Promise<string>;
  /** Whether a pair has been superseded at any time (also before `forget`) and is not a live one again. */
  isSuperseded(pair: Pair): Promise<boolean>;
  /** Whether the service has refused this combination before; forgotten when it is accepted. */
  wasRefused(combination: string): Promise<boolean>;
  /** Combinations that the service has refused. */
  refusals(): Promise<string[]>;
  /** Whether a start at this service has gone unanswered, and no probe was answered since. */
  isOut(): Promise<boolean>;
  /** A probe was answered. Not synced. */
  isBack(): Promise<void>;
  /**
   * Records a given pair as a new unproven generation (standing `imported`) and makes the vault known, whatever is open; returns
   * its number. A pair that is already recorded and live returns that generation, and is no longer a refused one; with another
   * hashedPin or device than the service has accepted it becomes a new one. A new one takes over the vault's device and hashedPin
   * where none are given.
   * @throws `no-credentials` for a superseded pair
   */
  record(pair: NewPair): Promise<number>;
  /** Counters are at least these from here on, and these combinations refused: they came with given credentials. */
  takeOver(attempts: Attempts): Promise<void>;
  /** These generations are about to be known outside of this state. */
  markElsewhere(generations: readonly number[]): Promise<void>;

  /** ① Its id is new for every start that is sent. Counts one start without acknowledgement, and one that possibly failed. */
  recordIntent(intent: Intent): Promise<void>;
  /** intent → discarded; what ① counted is taken back. */
  revertIntent(exchangeId: string, error: ErrorNote): Promise<void>;
  /** intent stays; notes the error, and that the service is out. Not synced. */
  unanswered(exchangeId: string, error: ErrorNote): Promise<void>;
  /**
   * intent → rejected; the failed attempt that ① has counted is certain now; remembers the refused combination. An exchange
   * that began with this pair and is started, held or expired is in doubt then: somebody else may have acknowledged it. With
   * `combination` null (a locked or deleted vault) none of this is done, and what ① has counted as failed is taken back.
   */
  reject(exchangeId: string, combination: string | null, error: ErrorNote): Promise<void>;
  /**
   * ② intent → started. In one transaction: the new pair `offered`, the base pair `current` and proven, every other
   * pair that is known superseded; failed accesses zero; other intents and any open exchange of the vault end:
   * in-doubt ones as `acknowledged` if their new pair was the base of this one, else as `expired`; others `discarded`.
   * Returns the new generation.
   */
  start(exchangeId: string, started: Started): Promise<number>;
  /** started|held → held. */
  hold(exchangeId: string, reason: HoldReason, facts: { delivered: boolean; saveOwed: boolean }): Promise<void>;
  /** ③ started|held|ending → ending; one more unanswered end call. `delivered` is noted when true. */
  ending(exchangeId: string, delivered: boolean): Promise<void>;
  /** ending stays; the last end call was answered after all, with something that settles nothing. */
  endAnswered(exchangeId: string, error: ErrorNote): Promise<void>;
  /**
   * ④ ending → acknowledged: the new pair current and proven, the old one superseded, starts zero. Of an adopted exchange
   * nothing of this: its new pair becomes the first candidate, since the service may answer a repetition with SUCCESS.
   */
  acknowledge(exchangeId: string): Promise<void>;
  /** ending|in-doubt → expired: the old pair is current, the new one void. */
  expire(exchangeId: string, error: ErrorNote): Promise<void>;
  /** ending → in-doubt. */
  markInDoubt(exchangeId: string, error: ErrorNote): Promise<void>;
  /**
   * Takes over what another machine left in a recovery document: both pairs become candidates, and nothing that is known changes
   * its standing. Where no exchange is open it becomes one in state ending, with one unanswered end call; an unread one is held.
   * @throws `no-credentials` for one that is older than what was proved here
   */
  adopt(document: AdoptedExchange): Promise<AdoptionOutcome>;

  /**
   * A delete that ① recorded has succeeded: the exchange ends, credentials, exchanges and label are removed as by
   * `forget`, the counters are zero; fingerprints and journal stay.
   */
  deleted(exchangeId: string): Promise<void>;
  /** What an info call says of a known vault; null leaves a date as it is. Not synced. Does nothing for an unknown vault. */
  noteDates(dates: VaultDates): Promise<void>;

  /** Both counters zero, or without what is only possibly failed. Refused combinations stay refused. */
  resetCounters(only: "all" | "unanswered"): Promise<void>;
  /** Removes credentials, exchanges, label; keeps counters, refused combinations and fingerprints. */
  forget(): Promise<void>;
  /**
   * Makes the vault, with all it has, one of this session's service.
   * @throws `no-credentials` if it is not known under the given one, or has credentials under this one
   */
  rebindFrom(service: string): Promise<void>;
  setLabel(label: string): Promise<void>;

  /** Lets the vault go. Never throws; a second call does nothing. The operating system does it when the process dies. */
  release(): Promise<void>;
}

export interface Waiting {
  /** On `Clock.elapsed`; `busy` is thrown when it passes. */
  deadline: number;
  signal: AbortSignal;
}

export interface Store {
  /**
   * Takes the lock of a vault (by its uuid, whatever the service), waiting for another holder. Creates nothing but the state
   * itself.
   * @throws `busy` at the deadline, `interrupted` when aborted, `state` where the state cannot be used
   */
  lock(service: string, uuid: string, waiting: Waiting): Promise<VaultSession>;
  /** Every vault that has credentials, or counters above zero after `forget`, by service and uuid. */
  list(): Promise<VaultRecord[]>;
  /** The vaults with this uuid, under any service, forgotten ones left out. */
  find(uuid: string): Promise<VaultRecord[]>;
  /** Exchanges of a vault, newest first, at most `limit`. */
  exchanges(service: string, uuid: string, limit: number): Promise<ExchangeRecord[]>;
  /**
   * A vault is about to be created, by whoever holds the lock of the creation's id (in place of a uuid): its reference is durable, and the key that will seal its credentials is there and
   * fits. Each call after it ends by one of the next two.
   */
  creating(creation: Creation): Promise<void>;
  /**
   * In one transaction: the vault is known, its pair the current and proven generation, with hashedPin, device, label and
   * dates; counters zero. Of a vault that has credentials here already, the pair becomes an unproven generation instead:
   * no lock is needed for either. Returns the generation and its fingerprint.
   */
  created(creation: Creation, vault: CreatedVault): Promise<{ generation: number; fingerprint: string }>;
  /** The service refused it, or nothing was sent; or it is not known whether it was created. */
  notCreated(creation: Creation, outcome: "create-refused" | "create-unanswered", error: ErrorNote): Promise<void>;
  /** Creations of a service that have no outcome, oldest first; whoever is at one holds a lock of its id. */
  leftCreations(service: string): Promise<LeftCreation[]>;
  /** The user knows of it now: it is not left any more. */
  toldOf(creation: LeftCreation): Promise<void>;
  /**
   * A place under the rate limit of an application (GCRA), shared by all processes: reserves the next slot
   * and returns the milliseconds until it; one that is further away than `longestMs` is not reserved. Not synced.
   * `intervalMs` 0 is no limit.
   */
  reserveSlot(application: string, now: number, intervalMs: number, longestMs?: number): Promise<number>;
}
