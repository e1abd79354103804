import type { AuditItem } from "../documents/sandbox.ts";
import type { Pair } from "../protocol/answers.ts";
import type { Kind, Operation } from "../protocol/endpoints.ts";
import type { CreditCard, Device, Metadata } from "../protocol/fields.ts";
import type { Application } from "../protocol/requests.ts";
import type { Policy } from "./policy.ts";
import type { Random } from "./random.ts";
import type { VaultInput } from "./seeds.ts";

/** State of the emulated service: plain JSON, which `--data` saves as it is. Times are milliseconds since the epoch. */
export interface State {
  application: Application;
  /** By uuid in lower case. */
  vaults: Record<string, VaultState>;
  /** Vaults that a reset restores, with the uuids and credentials assigned at first. */
  initial: VaultInput[];
  audit: AuditItem[];
}

export interface PendingExchange {
  operation: Operation;
  token: string;
  offered: Pair;
  /** The token is invalid from this millisecond on. */
  expiresAt: number;
  externalRef: string | null;
  /** Updates: the card or text that the end call stores. */
  creditCard: CreditCard | null;
  content?: string | null;
}

export interface VaultState {
  uuid: string;
  kind: Kind;
  label: string | null;
  state: "active" | "locked" | "deleted";
  lockReason: "failed" | "unacknowledged" | "auto-lock" | "console" | null;
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
  /** Accepted starts, end calls that reached the vault, acknowledgements, and starts and deletes refused for their credentials. */
  counts: { starts: number; ends: number; acknowledged: number; failed: number };
}

/** The state that the functions of the model work on, and the time at which a request is processed. */
export interface World {
  state: State;
  policy: Policy;
  random: Random;
  now: number;
}
