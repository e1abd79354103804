import type { Actor } from "../../actor.ts";
import type { Waiting } from "../../exchange/ports.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { rowsOf } from "../document.ts";
import type { WholePlace } from "../whole/whole.ts";
import type { Keyring } from "./keyring.ts";

/** What a rekey has done. */
export interface Rekeyed {
  /** Id of the former key; null where there was none. */
  from: string | null;
  to: string;
  /** Number of sealed values that were changed. */
  values: number;
  /** Names of the machines that have used the state. */
  machines: string[];
}

interface Rekeying {
  place: WholePlace;
  /** The keyring of the place. */
  keyring: Keyring;
  /** This process, and the time in milliseconds since the epoch. */
  by: Actor;
  now: number;
  /** A key that is kept elsewhere; undefined for a new one in a file. */
  given: SealingKey | undefined;
  waiting: Waiting;
}

/**
 * Seals a state with another key, in one transaction that also names it: whoever has the former key writes nothing from then on. A
 * file of the new key is durable before anything is sealed; that of the former one stays, for what else it opens.
 * @throws `busy`, `interrupted`; `state` if a value does not open, and nothing is changed
 */
export async function rekey(rekeying: Rekeying): Promise<Rekeyed> {
  const { place, keyring, by, now, given, waiting } = rekeying;
  return await place.transact("rekey", waiting, async (whole) => {
    const from = whole.keyId;
    const to = keyring.replacement(given);
    const machines = new Set<string>();
    for await (const vaults of whole.vaults())
      for (const row of vaults)
        for (const { by: actor } of rowsOf({ ...row, at: "" }, row, whole.marks).exchanges)
          if (actor !== null) machines.add(actor.host);
    const values = await whole.reseal(to);
    const file = given === undefined ? keyring.fileOf(to.id) : null;
    await whole.nameKey(to.id, JSON.stringify({ host: by.host, user: by.user, file }));
    await whole.note("rekeyed", now, { from, to: to.id, values });
    // Everything opens with it, or the transaction ends here.
    await whole.openAll(to);
    return { from, to: to.id, values, machines: [...machines].sort() };
  });
}
