import type { SettingsPart } from "../../parts/settings.ts";
import type { StatePart } from "../../parts/state.ts";
import { otherService } from "../../exchange/start/start.ts";
import type { VaultRecord } from "../../exchange/records.ts";

/**
 * What the state knows of a vault at this service, without holding it, which makes the state; null if nothing.
 * @throws `no-credentials` where it is known under other base URLs only, unless it is to move here (`rebind`)
 */
export async function lookUp(
  { settings, state }: { settings: SettingsPart; state: StatePart },
  uuid: string,
  rebind = false,
): Promise<VaultRecord | null> {
  const known = await (await state.store()).find(uuid);
  const service = settings.serviceName();
  const [elsewhere] = known;
  const here = known.find((record) => record.service === service);
  if (here !== undefined || elsewhere === undefined) return here ?? null;
  if (rebind) return elsewhere;
  throw otherService(uuid, service, elsewhere.service);
}
