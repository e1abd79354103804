import type { Call, CreateBody, StartBody } from "./call.ts";
import { isOutcome, openVault, presentVault, originOf } from "./call.ts";
import type { Outcome } from "./outcome.ts";
import { refuseInvalid, success } from "./outcome.ts";
import { countFailure, facts, responseVault, wrongCredential } from "./exchange.ts";
import { createVault, remove } from "./vaults.ts";
import type { World } from "./state.ts";
import { defined } from "../../defined.ts";

// The extended operations, after `admit` (docs/interface.md, Extended operations). The method of a delete and the responses to a create
// and a delete are guesses.

/** Creates a vault. The response shows it as a start does, without its contents. */
export function createCall(
  world: World,
  call: Call,
  { vault, device, metadata, externalRef }: CreateBody,
): Outcome {
  const { ipAddress, endpoint } = originOf(call);
  const input = {
    kind: call.endpoint.kind,
    ...vault,
    ...defined({ device, metadata }),
  };
  // The schema accepts more dates than the model can store.
  const { expiryDate } = vault;
  if (expiryDate !== undefined && Number.isNaN(Date.parse(expiryDate))) {
    return refuseInvalid(world, [{ path: "vault.expiryDate", rule: "is not a valid date" }]);
  }
  const created = createVault(world, input, "vault", {
    ipAddress,
    endpoint,
    externalRef: externalRef ?? null,
  });
  return success({ vault: responseVault(false, created, created.pair) });
}

/** Deletes a vault at once, even if an exchange is pending. Wrong credentials count as a failed attempt, as for a start. */
export function deleteCall(world: World, call: Call, body: StartBody): Outcome {
  const vault = openVault(world, call);
  if (isOutcome(vault)) return vault;
  const externalRef = body.externalRef ?? null;
  const wrong = wrongCredential(vault, body);
  if (wrong !== undefined) return countFailure(world, call, vault, wrong, externalRef);
  const { ipAddress, endpoint } = originOf(call);
  remove(world, vault, "vault deleted", world.now, { ipAddress, endpoint, externalRef });
  return success();
}

/** Describes a vault, locked or not. Counts nothing and changes no date. */
export function infoCall(world: World, call: Call): Outcome {
  const vault = presentVault(world, call);
  if (isOutcome(vault)) return vault;
  return success({ ...facts(vault), metadata: vault.metadata ?? {} });
}
