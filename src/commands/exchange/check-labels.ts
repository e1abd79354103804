import type { StatePart } from "../../parts/state.ts";
import { VaultError } from "../../errors.ts";

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
          hint: `choose another label; vault label ${owner} TEXT (renames the one that has it)`,
        },
      );
    }
    if (uuid !== undefined) owners.set(label, uuid.toLowerCase());
  }
}
