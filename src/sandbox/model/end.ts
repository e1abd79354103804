import type { Call } from "./call.ts";
import { isOutcome, isTokenOf, openVault, recordCall } from "./call.ts";
import type { Outcome } from "./outcome.ts";
import { refuse, success } from "./outcome.ts";
import type { PendingExchange, VaultState, World } from "./state.ts";
import { findVault, remove } from "./vaults.ts";

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
