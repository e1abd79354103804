import { defined } from "../../defined.ts";
import type { Operation } from "../../protocol/endpoints.ts";
import type { Device } from "../../protocol/fields.ts";
import { newPair, newToken, sameSecret } from "../seeds/random.ts";
import type { Call, StartBody } from "./call.ts";
import { isOutcome, openVault, recordCall } from "./call.ts";
import type { Outcome } from "./outcome.ts";
import { refuse, success } from "./outcome.ts";
import type { Pair } from "../../protocol/answers.ts";
import type { PendingExchange, VaultState, World } from "./state.ts";
import { findVault, lock, remove } from "./vaults.ts";

/**
 * Handles get-start and update-start, after `admit`. Wrong credentials count as a failed attempt. Correct ones count as a start without
 * acknowledgement, drop a pending exchange, and return a new pair, which is not valid before the end call.
 */
export function start(world: World, call: Call, operation: Operation, body: StartBody): Outcome {
  const vault = openVault(world, call);
  if (isOutcome(vault)) return vault;
  const externalRef = body.externalRef ?? null;
  const wrong = wrongCredential(vault, body);
  if (wrong !== undefined) return countFailure(world, call, vault, wrong, externalRef);

  vault.pending = null;
  vault.failedAccesses = 0;
  vault.unackedStarts += 1;
  vault.maxUnackedStarts = Math.max(vault.maxUnackedStarts, vault.unackedStarts);
  if (vault.unackedStarts >= world.policy.unackedStarts) {
    lock(vault, "unacknowledged");
    recordCall(
      world,
      call,
      "FAILURE",
      externalRef,
      "too many starts without acknowledgement, vault locked",
    );
    return refuse(
      world,
      "locked",
      "vaultUuid",
      "the vault is locked: too many starts without acknowledgement",
    );
  }
  vault.counts.starts += 1;
  vault.autoLockDate = world.now + world.policy.autoLockAfterMs;
  vault.pending = open(world, operation, body);
  recordCall(
    world,
    call,
    "SUCCESS",
    externalRef,
    `${operation === "get" ? "read" : "update"} started`,
  );
  return success({
    transactionToken: transactionToken(vault.pending, world.now),
    vault: responseVault(call.endpoint.operation === "get", vault, vault.pending.offered),
  });
}

/** Returns the property of the request that does not match the vault, or undefined. */
export function wrongCredential(vault: VaultState, body: StartBody): string | undefined {
  const { hashedPin, ...given } = body.vault.credentials;
  if (!samePair(vault.pair, given)) return "vault.credentials";
  if (!sameSecret(hashedPin ?? "", vault.hashedPin ?? "")) return "vault.credentials";
  if (
    vault.device !== null &&
    body.device !== undefined &&
    !deviceMatches(vault.device, body.device)
  )
    return "device";
  return undefined;
}

export const samePair = (a: Pair, b: Pair): boolean =>
  [sameSecret(a.encryptedData, b.encryptedData), sameSecret(a.payload, b.payload)].every(Boolean);

/** Counts a failed attempt, and locks the vault at the limit. The refusal is the same in either case. */
export function countFailure(
  world: World,
  call: Call,
  vault: VaultState,
  property: string,
  externalRef: string | null,
): Outcome {
  vault.counts.failed += 1;
  vault.failedAccesses += 1;
  vault.maxFailedAccesses = Math.max(vault.maxFailedAccesses, vault.failedAccesses);
  const locks = vault.failedAccesses >= world.policy.failedAttempts;
  if (locks) lock(vault, "failed");
  recordCall(
    world,
    call,
    "FAILURE",
    externalRef,
    `bad credentials (${property})${locks ? ", vault locked" : ""}`,
  );
  return refuse(world, "credentials", property, "the vault credentials are wrong");
}

function open(world: World, operation: Operation, body: StartBody): PendingExchange {
  return {
    operation,
    token: newToken(world.random),
    offered: newPair(world.random),
    startedAt: world.now,
    expiresAt: world.now + world.policy.tokenTtlMs,
    externalRef: body.externalRef ?? null,
    creditCard: body.newVault?.creditCard ?? null,
    content: body.newVault?.content ?? null,
  };
}

/**
 * Handles get-end and update-end, after `admit`. Only an end call makes the offered pair current, applies an update and uses up a
 * read. A token that is wrong, expired or used changes nothing.
 */
export function end(world: World, call: Call, token: string): Outcome {
  const { operation } = call.endpoint;
  const known = findVault(world, call.uuid);
  if (known !== undefined) known.counts.ends += 1;
  const isRepeated =
    known?.kind === call.endpoint.kind && isTokenOf(known.acknowledged, operation, token);
  if (world.policy.idempotentEnd && isRepeated) return success();
  const vault = openVault(world, call);
  if (isOutcome(vault)) return vault;
  if (vault.pending === null || !isTokenOf(vault.pending, operation, token)) {
    return refuse(world, "token", "token", "the token is unknown or has expired");
  }
  acknowledge(world, call, vault, vault.pending);
  return success();
}

function acknowledge(world: World, call: Call, vault: VaultState, pending: PendingExchange): void {
  vault.pair = pending.offered;
  vault.creditCard = pending.creditCard ?? vault.creditCard;
  vault.content = pending.content ?? vault.content;
  vault.pending = null;
  vault.acknowledged = { operation: pending.operation, token: pending.token };
  vault.failedAccesses = 0;
  vault.unackedStarts = 0;
  vault.lastModified = world.now;
  vault.counts.acknowledged += 1;
  recordCall(
    world,
    call,
    "SUCCESS",
    pending.externalRef,
    `${pending.operation === "get" ? "read" : "update"} acknowledged`,
  );
  if (pending.operation === "get" && vault.usesRemaining !== null) {
    vault.usesRemaining -= 1;
    if (vault.usesRemaining === 0) remove(world, vault, "no uses remain");
  }
}

/** Whether an end call names the operation and token of an exchange. */
const isTokenOf = (
  exchange: { operation: Operation; token: string } | null,
  operation: string,
  token: string,
): boolean =>
  exchange !== null && exchange.operation === operation && sameSecret(exchange.token, token);

const iso = (time: number): string => new Date(time).toISOString();

const transactionToken = (pending: PendingExchange, now: number) => ({
  token: pending.token,
  expiry: iso(pending.expiresAt),
  /** The unit is not documented: a client must not rely on milliseconds. */
  timeToExpire: pending.expiresAt - now,
});

/** Returns the vault of a response (docs/interface.md, Vault). `usesRemaining` includes the read under way: 1 is the last one. */
export function responseVault(
  reads: boolean,
  vault: VaultState,
  pair: Pair,
): Record<string, unknown> {
  return {
    uuid: vault.uuid,
    credentials: pair,
    ...(reads
      ? defined({ creditCard: vault.creditCard ?? undefined, content: vault.content ?? undefined })
      : {}),
    ...facts(vault),
  };
}

/** Returns the properties of a vault in a response, without credentials and contents. */
export function facts(vault: VaultState): Record<string, unknown> {
  return {
    ...defined({
      usesRemaining: vault.usesRemaining ?? undefined,
      expiryDate: vault.expiryDate === null ? undefined : iso(vault.expiryDate),
    }),
    autoLockDate: iso(vault.autoLockDate),
    dateCreated: iso(vault.dateCreated),
    lastModified: iso(vault.lastModified),
  };
}

/**
 * Tolerant matching (docs/interface.md, Device): a newer browser version or additional fonts match; another browser or operating
 * system, an older version or a missing font does not.
 */
function deviceMatches(known: Device, given: Device): boolean {
  return (
    given.browserType === known.browserType &&
    given.osType === known.osType &&
    !isOlder(given.browserVersion, known.browserVersion) &&
    known.fonts.every((font) => given.fonts.includes(font))
  );
}

/** Compares dotted versions number by number; missing parts count as 0. */
function isOlder(version: string, than: string): boolean {
  const [a, b] = [version.split(".").map(Number), than.split(".").map(Number)];
  for (let i = 0; i < Math.max(a.length, b.length); i += 1) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
