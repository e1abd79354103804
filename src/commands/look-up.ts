import type { Deps } from "../deps.ts";
import type { VaultRecord } from "../exchange/records.ts";

/**
 * What the state knows of a vault at this service, without holding it, which makes the state; null if nothing. Undefined
 * where it is known under other base URLs only: holding it raises what there is to say.
 */
export async function lookUp(deps: Deps, uuid: string): Promise<VaultRecord | null | undefined> {
  const known = await (await deps.store()).find(uuid);
  const service = deps.serviceName();
  return known.find((record) => record.service === service) ?? (known.length === 0 ? null : undefined);
}
