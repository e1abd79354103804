import type { Pair } from "../../protocol/answers.ts";
import type { Kind, Operation } from "../../protocol/endpoints.ts";
import type { CreditCard, Device, Metadata } from "../../protocol/fields.ts";
import type { Application } from "../../protocol/requests.ts";
import type { Random } from "../seeds/random.ts";
import type { VaultInput } from "../seeds/seeds.ts";
import type { Policy } from "./policy.ts";

/** State of the emulated service: plain JSON, which `--data` saves as it is. Times are milliseconds since the epoch. */
export interface State {
  application: Application;
  /** By uuid in lower case. */
  vaults: Record<string, VaultState>;
  /** Vaults that a reset restores, with the uuids and credentials assigned at first. */
  initial: VaultInput[];
  audit: AuditItem[];
  /** Number of random values drawn: a seeded sandbox continues after them when restarted. */
  drawn: number;
}

export interface PendingExchange {
  operation: Operation;
  token: string;
  offered: Pair;
  startedAt: number;
  /** The token is invalid from this millisecond on. */
  expiresAt: number;
  externalRef: string | null;
  /** Updates: the card or text that the end call stores. */
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
  /** LIMITED vaults: reads left. */
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
  /** Accepted starts. */
  starts: number;
  /** End calls that reached the vault. */
  ends: number;
  acknowledged: number;
  /** Starts and deletes refused for their credentials. */
  failed: number;
}

/**
 * The current names (docs/interface.md, Audit items), and two invented ones for failed checks of key and address, whose items have no
 * documented name. A failed attempt is READ_VAULT, UPDATE_VAULT or DELETE_VAULT with the outcome FAILURE.
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

/** An audit item. No fields are documented: these are the ones that a reader of audit exports can expect. */
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
  /** Method and path of the request; null for an action of the service itself. */
  endpoint: string | null;
  description: string;
}

/** The state that the functions of the model work on, and the time at which a request is processed. */
export interface World {
  state: State;
  policy: Policy;
  random: Random;
  now: number;
}
