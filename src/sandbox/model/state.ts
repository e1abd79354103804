import type { Kind, Operation } from "../../protocol/endpoints.ts";
import type { CreditCard, Device, Metadata } from "../../protocol/fields.ts";
import type { Application } from "../../protocol/requests.ts";

/**
 * Everything that the emulated service remembers: plain JSON, so that `--data` keeps it as it is. Times are
 * milliseconds since the epoch.
 */
export interface State {
  application: Application;
  /** By uuid in lower case. */
  vaults: Record<string, VaultState>;
  /** What a reset goes back to, with the uuids and credentials that were handed out. */
  initial: VaultInput[];
  audit: AuditItem[];
  /** Random values drawn so far: a seeded sandbox goes on behind them after a restart. */
  drawn: number;
}

export interface Pair {
  encryptedData: string;
  payload: string;
}

/** What a vault is made from: a seed file holds a list of these. */
export interface VaultInput {
  kind: Kind;
  label?: string;
  /** Credit-card vaults. */
  creditCard?: CreditCard;
  /** Generic vaults. */
  content?: string;
  /** Offline vaults: LIMITED, the number of reads. */
  maxUsage?: number;
  /** Offline vaults: TIME_EXPIRY, ISO 8601. */
  expiryDate?: string;
  /** Online vaults: needed by every start if it is given here. */
  hashedPin?: string;
  /** Online vaults: the device that starts must match; any device does if it is missing. */
  device?: Device;
  /** Key-value pairs, which an info call shows. */
  metadata?: Metadata;
  uuid?: string;
  credentials?: Pair;
}

export interface PendingExchange {
  operation: Operation;
  token: string;
  offered: Pair;
  startedAt: number;
  /** The token is dead from this millisecond on. */
  expiresAt: number;
  externalRef: string | null;
  /** Updates: the card or the text that the end call puts in place. */
  creditCard: CreditCard | null;
  content?: string | null;
}

export type LockReason = "failed" | "unacknowledged" | "auto-lock" | "console";

export interface VaultState {
  uuid: string;
  kind: Kind;
  label: string | null;
  state: "active" | "locked" | "deleted";
  lockReason: LockReason | null;
  /** The only pair that a start accepts. */
  pair: Pair;
  hashedPin: string | null;
  device: Device | null;
  creditCard: CreditCard | null;
  content: string | null;
  metadata?: Metadata;
  /** LIMITED vaults: reads that remain. */
  usesRemaining: number | null;
  expiryDate: number | null;
  autoLockDate: number;
  dateCreated: number;
  lastModified: number;
  pending: PendingExchange | null;
  /** The exchange acknowledged last, for `idempotentEnd`. */
  acknowledged: { operation: Operation; token: string } | null;
  failedAccesses: number;
  unackedStarts: number;
  maxFailedAccesses: number;
  maxUnackedStarts: number;
  counts: VaultCounts;
}

export interface VaultCounts {
  /** Starts that were accepted. */
  starts: number;
  /** End calls that reached the vault. */
  ends: number;
  acknowledged: number;
  /** Starts and deletes refused for their credentials. */
  failed: number;
}

/**
 * Section 6, current names, and two of our own for failed checks of key and address (section 5.3 asks for an item and names none).
 * A failed access is READ_VAULT, UPDATE_VAULT or DELETE_VAULT with the outcome FAILURE.
 */
export type AuditAction =
  | "CREATE_VAULT"
  | "READ_VAULT"
  | "ACKNOWLEDGE_READ_VAULT"
  | "UPDATE_VAULT"
  | "ACKNOWLEDGE_UPDATE_VAULT"
  | "DELETE_VAULT"
  | "API_KEY_CHECK"
  | "ADDRESS_CHECK";

/** One item. The specification shows no fields: these are what a reader of audit exports can expect to find. */
export interface AuditItem {
  id: string;
  /** ISO 8601, milliseconds, UTC. */
  time: string;
  action: AuditAction;
  outcome: "SUCCESS" | "FAILURE";
  vaultUuid: string | null;
  applicationUuid: string | null;
  externalRef: string | null;
  ipAddress: string | null;
  /** Method and path of the request; null for what the service did by itself. */
  endpoint: string | null;
  description: string;
}
