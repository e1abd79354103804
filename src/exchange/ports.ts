import type { Holder } from "../actor.ts";
import type { Answer, Pair } from "../protocol/answers.ts";
import type { Kind, Operation, SingleOperation } from "../protocol/endpoints.ts";
import type { Device, Metadata } from "../protocol/fields.ts";
import type { Credentials } from "../protocol/requests.ts";
import type { Breaker, ServiceBreaker } from "./breaker.ts";
import type { StartOutcome, Policy } from "./counting.ts";
import type {
  AdoptedExchange,
  AdoptionOutcome,
  CounterReset,
  CreatedVault,
  Creation,
  ErrorNote,
  Intent,
  JournalledOperation,
  Named,
  NewPair,
  PastExchange,
  RunExchange,
  Settled,
  Started,
  VaultRecord,
} from "./records.ts";
import type { HoldReason } from "./states.ts";

/** The clocks of the machine. */
export interface Clock {
  /** Milliseconds since the epoch, by the system's clock. */
  now(): number;
  /** Milliseconds on the monotonic clock, on which deadlines are measured. */
  elapsed(): number;
  /** Rejects with the signal's reason when aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** Opens an exchange, or deletes a vault (extended), which is guarded and counted likewise. */
export interface StartCall {
  step: "start";
  uuid: string;
  kind: Kind;
  operation: JournalledOperation;
  externalRef: string;
  credentials: Credentials;
  /** Online vaults only. */
  device?: Device | undefined;
  /** Updates only: `newVault` of the interface. */
  newVault?: Record<string, unknown> | undefined;
}

export interface EndCall {
  step: "end";
  uuid: string;
  kind: Kind;
  operation: Operation;
  token: string;
}

/** A call outside an exchange that counts nothing toward lockout (extended operations). */
export type SingleCall =
  | { step: "info"; kind: Kind; uuid: string }
  | {
      step: "create";
      kind: Kind;
      externalRef: string;
      /** Card or content, hashedPin, maxUsage, expiryDate: `vault` of the interface. */
      vault: Record<string, unknown>;
      device?: Device | undefined;
      metadata?: Metadata | undefined;
    };

/** Asks whether the service answers. It names no vault, so that the service refuses it and counts nothing. */
export interface ProbeCall {
  step: "probe";
  kind: Kind;
}

export type Call = StartCall | EndCall | SingleCall | ProbeCall;

/** How a call ended; nothing is thrown. */
export type Reply =
  /** Not a byte was written: it surely did not arrive. `lasts`: another try fails likewise, as where a certificate is not trusted. */
  | { type: "not-sent"; cause: string; hint?: string | undefined; lasts?: true; answer?: undefined }
  /** It may have been processed, and no whole JSON answer came back. `isWhole`: a response came, a 5xx or not the service's own. */
  | {
      type: "no-answer";
      cause: string;
      httpStatus?: number | undefined;
      answer?: Answer | undefined;
      isWhole?: true;
      hint?: undefined;
    }
  | { type: "answer"; answer: Answer };

/**
 * Sends a call and says how it ended. An aborted one is `not-sent` if nothing was written yet, else `no-answer`. `ready` is awaited
 * when the connection stands, right before the request is written, and again on a new one; what it throws is thrown, and nothing is sent.
 */
export type Send = (call: Call, signal: AbortSignal, ready?: () => Promise<void>) => Promise<Reply>;

/** The client of the service. It never retries and never follows a redirect: each start counts. */
export interface Service {
  call: Send;
  /**
   * Waits for a place under the rate limit, which each call needs, a start before ①, and obtains the bearer token for a vault of this
   * kind. An end call goes ahead of all others: its token expires. Rejects if aborted.
   * @throws `rate-limited` as soon as it is known that the place would come after `deadline`
   */
  admit(
    next: { kind: Kind; isEnd?: boolean },
    signal: AbortSignal,
    deadline?: number,
  ): Promise<void>;
}

/**
 * A locked vault: no other process can lock it until `release`, or until the lease of a shared state is over. Each writing method is one
 * transaction and appends to the journal. It is durable (synced) before it resolves unless it says otherwise, and conditional on the
 * exchange, its former state and the epoch of this lock. If no row changes it throws `state` (`busy`, to be retried after a look at the
 * status, if a lease was lost), and nothing may be sent any more. All methods throw `state` if the database fails.
 */
export interface VaultSession {
  readonly service: string;
  readonly uuid: string;
  /** Returns null if the vault is not known under this service. */
  read(): Promise<VaultRecord | null>;
  /** @throws `state` if the key does not fit or the pair is no longer kept */
  credentials(generation: number): Promise<Credentials>;
  token(exchangeId: string): Promise<string>;
  /** Whether a pair was ever superseded (also before `forget`) and has not come back to life. */
  isSuperseded(pair: Pair): Promise<boolean>;
  /** The combinations that the service has refused and not accepted since. */
  refusals(): Promise<string[]>;
  /**
   * Records a given pair as a new generation (`imported`), and the vault with it, whatever is open; returns its number. One that is
   * live already keeps its own and is not refused any more, unless it comes with a hashedPin or device that was not accepted with it.
   * @throws `no-credentials` for a superseded pair
   */
  recordPair(pair: NewPair): Promise<number>;
  /** Records that these generations are about to be known outside this state. */
  markElsewhere(generations: readonly number[]): Promise<void>;

  /**
   * ① A start, which has its own id, counts from now on, and has claimed its trial, if it is one.
   * @throws BreakerChanged if the breaker is not as `intent.seen` says: nothing is recorded then
   */
  recordIntent(intent: Intent): Promise<void>;
  /**
   * Records how the call of ① ended that was not accepted, and with that what it counts. `none`, or `success` that cannot be used: intent
   * stays. `free`: intent → discarded. `no-starts`, `refused`: intent → rejected. The combination is refused then; if it `isAsStored`, so is
   * its pair, and what began with that and is started, held or expired becomes in doubt.
   */
  noteOutcome(
    exchangeId: string,
    outcome: StartOutcome,
    error: ErrorNote,
    combination?: string,
    isAsStored?: boolean,
  ): Promise<void>;
  /**
   * ② intent → started. The new pair becomes `offered`, the base pair `current` and proven, every other known pair superseded. What was
   * left of the vault ends with it. Returns what is told of that; null for what was left by itself and simply begun again.
   */
  recordStarted(exchangeId: string, started: Started): Promise<Settled | null>;
  /** started|held → held. */
  hold(
    exchangeId: string,
    reason: HoldReason,
    facts: { delivered: boolean; saveOwed: boolean },
  ): Promise<void>;
  /** started|held stays. Records what --save-cmd has saved, by its hash: that is what it replaces next. */
  noteSaved(exchangeId: string, sha256: string): Promise<void>;
  /** ③ started|held|ending → ending. Counts one more unanswered end call. Records `delivered` if true. */
  recordEnding(exchangeId: string, delivered: boolean): Promise<void>;
  /**
   * ④ ending → acknowledged. The new pair becomes current and proven, the old one superseded; that of an adopted exchange the first
   * candidate. With `isLast` nothing else follows: the vault may be released by the same transaction.
   */
  acknowledge(exchangeId: string, isLast?: boolean): Promise<void>;
  /** Records what became of the last end call but for ④. `ending`: it was not sent after all, or its answer settles nothing. */
  settle(
    exchangeId: string,
    as: "ending" | "expired" | "in-doubt",
    error: ErrorNote,
  ): Promise<void>;
  /**
   * Adopts the exchange of a recovery document. Both pairs become candidates; no known pair changes its standing. If no exchange
   * is open it becomes one, as if an end call went unanswered; an unread one is held.
   * @throws `no-credentials` for a document that is older than what was proven here
   */
  adopt(document: AdoptedExchange): Promise<AdoptionOutcome>;

  /** Records that the delete of ① succeeded: as `forget`, with the counters zeroed. */
  recordDeleted(exchangeId: string): Promise<void>;

  /** What is refused stays so. */
  resetCounters(to: CounterReset): Promise<void>;
  /** Removes credentials, exchanges, label; keeps counters, refused combinations and fingerprints. */
  forget(): Promise<void>;
  setLabel(label: string): Promise<void>;

  /** The time by the clock of the state: of this machine, or of the database that several share. Milliseconds since the epoch. */
  now(): number;
  /**
   * Makes sure, right before a request is sent, that this process will hold the vault long enough for it.
   * @throws `busy` if somebody else may hold it by now
   */
  ensureHeld(): Promise<void>;
  /** Releases the lock. Never throws; a second call does nothing. */
  release(): Promise<void>;
}

export interface Waiting {
  /** On `Clock.elapsed`; `busy` is thrown when it passes. */
  deadline: number;
  signal: AbortSignal;
  /** Is told who holds what is waited for, if that is known. */
  tell?: (holder: Holder) => void;
}

export interface Store {
  /**
   * Locks a vault: on this machine by its uuid, whatever the service, in a shared state by both. Waits while another process has it locked.
   * Creates a state if there is none.
   * @throws `busy` at the deadline, `interrupted` when aborted, `state` if the state cannot be used
   */
  lock(service: string, uuid: string, waiting: Waiting): Promise<VaultSession>;
  /**
   * Every vault that has credentials, or counters above zero after `forget`, in the order of `byLabel`, read a few at a time. With a
   * uuid, those alone that have it, under any service.
   */
  each(uuid?: string): AsyncIterable<VaultRecord>;
  /** The same, at once. */
  list(): Promise<VaultRecord[]>;
  /** How the same are called: no document is read. */
  names(): Promise<Named[]>;
  /** The vaults with this uuid under any service, without forgotten ones. */
  find(uuid: string): Promise<VaultRecord[]>;
  /** The vaults of a service, without forgotten ones. There may be many, kept at once: each lacks its `exchanges`, but for the newest. */
  known(service: string): Promise<VaultRecord[]>;
  /** What was begun in a run, of all vaults or of one. */
  run(service: string, name: string, uuid?: string): Promise<RunExchange[]>;
  /** The exchanges of a vault that the journal has, or that one alone, newest first. Reads all of the journal: for what is rare. */
  past(service: string, uuid: string, exchange?: string): Promise<PastExchange[]>;
  /** Durably logs what is about to be created, and makes sure of the key. The caller holds the lock of its id, in place of a uuid. */
  beginCreation(creation: Creation): Promise<void>;
  /**
   * Records a created vault, without its lock: its pair as the current and proven generation; as an unproven one, if the vault has
   * credentials here already. Returns the generation.
   */
  completeCreation(creation: Creation, vault: CreatedVault): Promise<number>;
  /**
   * Reserves the next slot under an application's rate limit (GCRA), for all processes, by the clock of the state. Returns the
   * milliseconds to it; one that is more than `longestMs` away is not reserved. `intervalMs` 0 means no limit. Not synced.
   */
  reserveSlot(application: string, intervalMs: number, longestMs?: number): Promise<number>;
  /** The circuit breaker of a service. */
  breaker(service: string): ServiceBreaker;
  /** Every breaker that ever opened, ordered by service. */
  breakers(): Promise<(Breaker & { service: string })[]>;
  /** As `VaultSession.now`, as far as the state has been asked anything. */
  now(): number;
}

/** Progress of an exchange, to be shown to the user. Holds no secret. */
export type ExchangeEvent =
  /** A deviation from the interface, or something the user should know. Always shown. */
  | { type: "warning"; message: string }
  /** An exchange that an earlier run left was settled. Always shown. */
  | { type: "settled"; settled: Settled }
  | { type: "starting"; operation: "get" | "update"; generation: number; attempt: number }
  | { type: "acknowledging"; attempt: number }
  /** Interrupted while an end call is under way, which still has a little time. */
  | { type: "finishing"; atMostMs: number }
  /** A call is repeated after a failure that allows it. */
  | { type: "retrying"; step: "start" | "end" | SingleOperation; cause: string; waitMs: number }
  /** The circuit breaker is open: a trial is waited for, longer if the vault has unanswered starts itself. */
  | { type: "waiting"; cause: string; waitMs: number; unansweredStarts: number };

/** Everything an exchange needs while it has its vault locked. */
export interface ExchangeContext {
  session: VaultSession;
  service: Service;
  breaker: ServiceBreaker;
  clock: Clock;
  policy: Policy;
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP, or when a run of many vaults ends early: nothing new begins. */
  signal: AbortSignal;
  /** Aborted by the second signal, which abandons the call under way. */
  killed: AbortSignal;
  /** The time limit for waiting and retrying, on `Clock.elapsed`. */
  deadline: number;
  emit(event: ExchangeEvent): void;
  /** What was settled so far of what earlier runs left, by the id of the exchange: `withVault` collects it from the events. */
  settled: Map<string, Settled>;
  /** Replaces secrets in what the state stores in plain text. */
  redact(text: string): string;
  /** Registers a secret for redaction, as soon as the program learns it. */
  learnSecret(secret: string): void;
}
