import type { SettingsPart } from "../parts/settings.ts";
import type { StatePart } from "../parts/state.ts";
import { otherService } from "../exchange/start/start.ts";
import type { VaultRecord } from "../exchange/records.ts";
import { VaultError } from "../errors.ts";
import { command } from "../way.ts";

/**
 * What the state knows of a vault at this service, without holding it, which makes the state; null if nothing.
 * @throws `no-credentials` where it is known under other base URLs only, unless credentials for this one are `given`
 */
export async function lookUp(
  { settings, state }: { settings: SettingsPart; state: StatePart },
  uuid: string,
  given = false,
): Promise<VaultRecord | null> {
  const known = await (await state.store()).find(uuid);
  const service = settings.serviceName();
  const [elsewhere] = known;
  const here = known.find((record) => record.service === service);
  if (here !== undefined || elsewhere === undefined || given) return here ?? null;
  throw otherService(uuid, service, elsewhere.service);
}

/**
 * Refuses labels that other vaults have, before anything is changed. A command that gives one away meanwhile is met by the state.
 * @throws `usage`
 */
export async function checkLabels(
  state: StatePart,
  given: readonly { uuid?: string; label?: string | undefined }[],
): Promise<void> {
  if (given.every(({ label }) => label === undefined)) return;
  const owners = new Map(
    (await (await state.store()).list()).map(({ uuid, label }) => [label, uuid.toLowerCase()]),
  );
  for (const { uuid, label } of given) {
    if (label === undefined) continue;
    const owner = owners.get(label);
    if (owner !== undefined && owner !== uuid?.toLowerCase()) {
      throw new VaultError(
        "usage",
        `vault ${owner} already has the label ${JSON.stringify(label)}; nothing was changed`,
        {
          uuid: owner,
          hint: "choose another label",
          next: [{ ...command`vault label ${owner} TEXT`, note: "renames the one that has it" }],
        },
      );
    }
    if (uuid !== undefined) owners.set(label, uuid.toLowerCase());
  }
}
