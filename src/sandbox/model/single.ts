import type { Call, CreateBody, StartBody } from "./call.ts";
import { isOutcome, openVault, presentVault, traces } from "./call.ts";
import type { Outcome } from "./outcome.ts";
import { refuseInvalid, success } from "./outcome.ts";
import { countFailure, facts, responseVault, wrongCredential } from "./start.ts";
import { createVault, remove } from "./vaults.ts";
import type { World } from "./world.ts";
import { defined } from "../../defined.ts";

/**
 * The extended operations, after `admit`. The specification shows none of their shapes, and the method and the answer of a
 * delete and the answer of a create are confirmed nowhere: this is service-facts, and where that ends a guess.
 */

/** The new vault as an answer of a start shows it, without its contents. */
export function createCall(world: World, call: Call, { vault, device, metadata, externalRef }: CreateBody): Outcome {
  const { ipAddress, endpoint } = traces(call);
  const input = {
    kind: call.endpoint.kind,
    ...vault,
    ...defined({ device, metadata }),
  };
  // The schema takes more forms of a date than the model can keep.
  const { expiryDate } = vault;
  if (expiryDate !== undefined && Number.isNaN(Date.parse(expiryDate))) {
    return refuseInvalid(world, [{ path: "vault.expiryDate", rule: "is not a date that exists" }]);
  }
  const created = createVault(world, input, "vault", { ipAddress, endpoint, externalRef: externalRef ?? null });
  return success({ vault: responseVault(false, created, created.pair) });
}

/** Wrong credentials count one failed access, as on a start; right ones delete at once, whatever exchange is pending. */
export function deleteCall(world: World, call: Call, body: StartBody): Outcome {
  const vault = openVault(world, call);
  if (isOutcome(vault)) return vault;
  const externalRef = body.externalRef ?? null;
  const wrong = wrongCredential(vault, body);
  if (wrong !== undefined) return countFailure(world, call, vault, wrong, externalRef);
  const { ipAddress, endpoint } = traces(call);
  remove(world, vault, "vault deleted", world.now, { ipAddress, endpoint, externalRef });
  return success();
}

/** Also of a locked vault. Counts nothing and moves no date. */
export function infoCall(world: World, call: Call): Outcome {
  const vault = presentVault(world, call);
  if (isOutcome(vault)) return vault;
  return success({ ...facts(vault), metadata: vault.metadata ?? {} });
}
