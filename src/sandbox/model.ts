import { createHash, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import type { AuditItem, SandboxDocument, StartDocument } from "../documents/sandbox.ts";
import type { Pair } from "../protocol/answers.ts";
import type { Operation } from "../protocol/endpoints.ts";
import { instant } from "../protocol/fields.ts";
import type { Application } from "../protocol/requests.ts";
import type { Policy } from "./policy.ts";
import type { VaultInput } from "./seeds.ts";

/** State of the service: plain JSON, saved as it is by `--data`. Times are epoch milliseconds. */
export interface State {
  application: Application;
  /** By uuid in lower case. */
  vaults: Record<string, VaultState>;
  /** Vaults that a reset restores, with the uuids and credentials assigned at first. */
  initial: VaultInput[];
  audit: AuditItem[];
}

/** An open exchange; of an update, with the card or text that the end call stores. */
export interface PendingExchange extends Pick<VaultInput, "creditCard" | "content"> {
  operation: Operation;
  token: string;
  offered: Pair;
  /** The token is invalid from this millisecond on. */
  expiresAt: number;
  externalRef: string | null;
}

/** A vault as it was described, and what has become of it. */
export interface VaultState extends Omit<VaultInput, "credentials" | "maxUsage" | "expiryDate"> {
  uuid: string;
  state: SandboxDocument<"sandbox lock">["status"];
  lockReason: "failed" | "unacknowledged" | "auto-lock" | "console" | null;
  /** The only pair that a start accepts. */
  pair: Pair;
  /** LIMITED vaults: reads left. */
  usesRemaining: number | null;
  expiryDate: number | null;
  autoLockDate: number;
  dateCreated: number;
  lastModified: number;
  pending: PendingExchange | null;
  /** The exchange acknowledged last, for `idempotentEnd`. */
  acknowledged: Pick<PendingExchange, "operation" | "token"> | null;
  failedAccesses: number;
  unackedStarts: number;
  maxFailedAccesses: number;
  maxUnackedStarts: number;
  /** Accepted starts, ends that reached the vault, acknowledgements, refusals for credentials. */
  counts: { starts: number; ends: number; acknowledged: number; failed: number };
}

export interface World {
  state: State;
  policy: Policy;
  now: number;
}

/** Appends an audit item, of the current time if it has none. */
export function record(
  world: World,
  { action, description, ...item }: Partial<AuditItem> & Pick<AuditItem, "action" | "description">,
): void {
  // In the order of the columns of an export.
  world.state.audit.push({
    id: randomUUID(),
    time: iso(world.now),
    action,
    outcome: "SUCCESS",
    vaultUuid: null,
    applicationUuid: world.state.application.uuid,
    externalRef: null,
    ipAddress: null,
    endpoint: null,
    description,
    ...item,
  });
}

/** A vault as its owner knows it, and as the ready document lists it. */
export type KnownVault = StartDocument["vaults"][number];

/** Creates a vault, whose uuid must be unused, and records its item, with the call's origin. */
export function createVault(
  world: World,
  given: VaultInput,
  origin: Partial<AuditItem> = {},
): VaultState {
  const { uuid = randomUUID(), credentials: pair = newPair(), ...input } = structuredClone(given);
  const { maxUsage: usesRemaining = null, expiryDate, ...described } = input;
  const vault: VaultState = {
    ...described,
    uuid,
    state: "active",
    lockReason: null,
    pair,
    usesRemaining,
    expiryDate: expiryDate === undefined ? null : instant(expiryDate),
    autoLockDate: world.now + world.policy.autoLockAfterMs,
    dateCreated: world.now,
    lastModified: world.now,
    pending: null,
    acknowledged: null,
    failedAccesses: 0,
    unackedStarts: 0,
    maxFailedAccesses: 0,
    maxUnackedStarts: 0,
    counts: { starts: 0, ends: 0, acknowledged: 0, failed: 0 },
  };
  world.state.vaults[uuid.toLowerCase()] = vault;
  record(world, {
    ...origin,
    action: "CREATE_VAULT",
    vaultUuid: uuid,
    description: "vault created",
  });
  return vault;
}

/** Returns the vault, brought up to the current time, or undefined. */
export function findVault(world: World, uuid: string): VaultState | undefined {
  const vault = Object.hasOwn(world.state.vaults, uuid.toLowerCase())
    ? world.state.vaults[uuid.toLowerCase()]
    : undefined;
  if (vault !== undefined) bringUpToDate(world, vault);
  return vault;
}

export const allVaults = (world: World): VaultState[] =>
  Object.keys(world.state.vaults).flatMap((uuid) => findVault(world, uuid) ?? []);

/** Applies the effects of time: tokens expire, expiryDate deletes, autoLockDate locks. */
function bringUpToDate(world: World, vault: VaultState): void {
  if (vault.state === "deleted") return;
  if (vault.pending !== null && vault.pending.expiresAt <= world.now) vault.pending = null;
  if (vault.expiryDate !== null && vault.expiryDate <= world.now) {
    remove(world, vault, { description: "expiryDate reached", time: iso(vault.expiryDate) });
  } else if (vault.state === "active" && vault.autoLockDate <= world.now) {
    lock(vault, "auto-lock");
  }
}

export function remove(
  world: World,
  vault: VaultState,
  item: Partial<AuditItem> & Pick<AuditItem, "description">,
): void {
  vault.state = "deleted";
  vault.pending = null;
  record(world, { ...item, action: "DELETE_VAULT", vaultUuid: vault.uuid });
}

/** Locks a vault. A pending exchange stays, and may be ended after an unlock if its token lasts. */
export function lock(vault: VaultState, reason: NonNullable<VaultState["lockReason"]>): void {
  vault.state = "locked";
  vault.lockReason = reason;
}

/** Unlocks a vault, resets both counters and moves autoLockDate. */
export function unlock(world: World, vault: VaultState): void {
  vault.state = "active";
  vault.lockReason = null;
  vault.failedAccesses = 0;
  vault.unackedStarts = 0;
  vault.autoLockDate = world.now + world.policy.autoLockAfterMs;
}

export const iso = (time: number): string => new Date(time).toISOString();

export const newPair = (): Pair => ({
  encryptedData: randomBytes(96).toString("base64"),
  payload: randomBytes(48).toString("base64"),
});

export const newToken = (): string => randomBytes(32).toString("base64url");

/** Compares two secrets in constant time. */
export function sameSecret(a: string, b: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
