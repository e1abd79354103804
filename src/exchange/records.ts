import type { Pair } from "../protocol/answers.ts";
import type { Kind, Operation } from "../protocol/endpoints.ts";
import type { VaultDates } from "../protocol/extended-answers.ts";
import type { Device } from "../protocol/fields.ts";
import type { ExchangeState, HoldReason } from "./states.ts";

/** A pair with what is sent beside it. */
export interface Credentials extends Pair {
  hashedPin?: string | undefined;
}

/**
 * Standing of a stored pair. `imported`: given, not yet proven by a start. `offered`: handed out by a start, not yet
 * acknowledged (or in doubt). `void`: offered by an exchange that was dropped or expired. Only the success of a rival
 * makes a pair `superseded`.
 */
export type Standing = "current" | "imported" | "offered" | "superseded" | "void";

/**
 * Where imported credentials stand among the candidates: before others, because they followed the current ones; or behind
 * all, because by the service's times they are older than what was proven here.
 */
export type Placed = "successor" | "older";

export interface Generation {
  generation: number;
  standing: Standing;
  /** The service has accepted this pair, or handed it out and taken the acknowledgement. */
  proven: boolean;
  /** SHA-256 over the length-prefixed lower-case uuid, encryptedData and payload; 64 hexadecimal digits. */
  fingerprint: string;
  device: Device | null;
  createdAt: string;
  /** Also known outside of this state: imported, exported, in a recovery document, a backup or a copy. */
  elsewhere: boolean;
  /** A start with it was refused since it was last accepted. */
  refused: boolean;
  placed: Placed | null;
}

/** What the journal keeps like a start: a delete is guarded and counted as one, and has nothing to acknowledge. */
export type JournalledOperation = Operation | "delete";

export interface ExchangeRecord {
  id: string;
  operation: JournalledOperation;
  kind: Kind;
  state: ExchangeState;
  externalRef: string;
  /** The pair it was started with. */
  baseGeneration: number;
  /** The pair it was given; null before ②. */
  newGeneration: number | null;
  startedAt: string;
  tokenExpiry: string | null;
  /** As the start response had it. */
  usesRemaining: number | null;
  /** The vault is known to be limited in its number of reads (at the time of ②). */
  limited: boolean;
  holdReason: HoldReason | null;
  /** The contents are known to have been delivered whole. */
  delivered: boolean;
  /** A --save-cmd or --credentials-out is owed before an acknowledgement. */
  saveOwed: boolean;
  /** End calls that may have been sent and were not answered. */
  endsUnanswered: number;
  acknowledgedAt: string | null;
  /** Taken over from a recovery document: what the service answers to its end call supersedes nothing. */
  adopted: boolean;
}

/** An exchange that can be acknowledged. */
export type OpenExchange = ExchangeRecord & { operation: Operation };

/** What a start response says of the vault, besides its contents. */
interface VaultFacts extends VaultDates {
  usesRemaining: number | null;
  /** The vault is known to be limited in its number of reads. */
  limited: boolean;
}

export interface VaultRecord extends VaultFacts {
  /** Origin, path and prefix of the service, as `serviceName` writes it. */
  service: string;
  uuid: string;
  kind: Kind;
  label: string | null;
  /** Those whose pair is still kept, newest first. Forgotten vaults have none. */
  generations: Generation[];
  unackedStarts: number;
  failedAttempts: number;
  /** The part of `failedAttempts` that is only possible: starts whose outcome is unknown. */
  possiblyFailed: number;
  /** When a start last succeeded here; null where none has. */
  provenAt: string | null;
  lastError: { at: string; code: string; message: string } | null;
  /** The exchange in one of the open states, if there is one: at most one at a time. */
  open: OpenExchange | null;
  /** The newest exchange of all, whatever its state. */
  last: ExchangeRecord | null;
}

/** ①. */
export interface Intent {
  exchangeId: string;
  operation: JournalledOperation;
  kind: Kind;
  externalRef: string;
  generation: number;
}

/** ②. */
export interface Started extends VaultFacts {
  pair: Pair;
  hashedPin?: string | undefined;
  device?: Device | undefined;
  token: string;
  tokenExpiry: string | null;
  /** SHA-256 of the combination that was accepted: it is no longer a refused one. */
  combination: string;
  /** A recovery document with the new pair will leave this state. */
  elsewhere: boolean;
}

/** What counts toward lockout and travels with credentials that have no state of their own. */
export interface Attempts {
  unackedStarts: number;
  failedAttempts: number;
  /** The part of them that is only possible. */
  possiblyFailed: number;
  /** Combinations that the service has refused (`combinationOf`). */
  refused: readonly string[];
}

export interface ErrorNote {
  code: string;
  /** Secrets already replaced. */
  message: string;
}

export interface NewPair {
  credentials: Credentials;
  kind: Kind;
  device?: Device | undefined;
  label?: string | undefined;
}

/** A vault that is being created: until the service has answered, its reference is all there is to find it by. */
export interface Creation {
  id: string;
  service: string;
  kind: Kind;
  externalRef: string;
}

/** What the service has handed out for it. */
export interface CreatedVault extends VaultFacts {
  uuid: string;
  credentials: Credentials;
  device?: Device | undefined;
  label?: string | undefined;
}

/** A creation without an outcome: its process is at it, or died before it learnt it. */
export interface LeftCreation extends Creation {
  startedAt: string;
}

export interface AdoptedExchange {
  exchangeId: string;
  kind: Kind;
  operation: Operation;
  old: Credentials;
  new: Pair;
  token: string;
  tokenExpiry: string | null;
  device?: Device | undefined;
  /** It waits for a decision, as a read of a limited vault that was not delivered. */
  unread: boolean;
}

/**
 * What became of a recovery document: an open exchange; candidates only, because another exchange is open; or nothing,
 * because what it says is known.
 */
export type AdoptionOutcome = "open" | "candidates" | "known";
