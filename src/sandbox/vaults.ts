import { defined } from "../defined.ts";
import type { AuditItem, StartDocument } from "../documents/sandbox.ts";
import { instant } from "../protocol/fields.ts";
import { record } from "./audit.ts";
import { newPair, newUuid } from "./random.ts";
import type { VaultInput } from "./seeds.ts";
import type { VaultState, World } from "./state.ts";

/** A vault as its owner knows it, and as the ready document lists it. */
export type KnownVault = StartDocument["vaults"][number];

/** Creates a vault, whose uuid is not in use, and records its CREATE_VAULT item, with the origin of the call. */
export function createVault(
  world: World,
  given: VaultInput,
  origin: Partial<AuditItem> = {},
): VaultState {
  const input = structuredClone(given);
  const uuid = input.uuid ?? newUuid(world.random);
  const vault: VaultState = {
    uuid,
    kind: input.kind,
    label: input.label ?? null,
    state: "active",
    lockReason: null,
    pair: input.credentials ?? newPair(world.random),
    hashedPin: input.hashedPin ?? null,
    device: input.device ?? null,
    creditCard: input.creditCard ?? null,
    content: input.content ?? null,
    ...defined({ metadata: input.metadata }),
    usesRemaining: input.maxUsage ?? null,
    expiryDate: input.expiryDate === undefined ? null : instant(input.expiryDate),
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

/** Returns every vault, brought up to the current time. */
export const allVaults = (world: World): VaultState[] =>
  Object.keys(world.state.vaults).flatMap((uuid) => findVault(world, uuid) ?? []);

/** Applies the effects of time: tokens expire, expiryDate deletes, autoLockDate locks. */
function bringUpToDate(world: World, vault: VaultState): void {
  if (vault.state === "deleted") return;
  if (vault.pending !== null && vault.pending.expiresAt <= world.now) vault.pending = null;
  if (vault.expiryDate !== null && vault.expiryDate <= world.now) {
    remove(world, vault, "expiryDate reached", vault.expiryDate);
  } else if (vault.state === "active" && vault.autoLockDate <= world.now) {
    lock(vault, "auto-lock");
  }
}

export function remove(
  world: World,
  vault: VaultState,
  description: string,
  time = world.now,
  origin: Partial<AuditItem> = {},
): void {
  vault.state = "deleted";
  vault.pending = null;
  record(world, { ...origin, action: "DELETE_VAULT", vaultUuid: vault.uuid, description }, time);
}

/** Locks a vault. A pending exchange stays: its end call is refused until an unlock, and its token may still be valid then. */
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

export function knownVault(vault: VaultState): KnownVault {
  return {
    uuid: vault.uuid,
    kind: vault.kind,
    credentials: { ...vault.pair, ...defined({ hashedPin: vault.hashedPin ?? undefined }) },
    label: vault.label ?? vault.kind,
    ...defined({ device: vault.device ?? undefined }),
  };
}
