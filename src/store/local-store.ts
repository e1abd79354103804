import type { Clock, Store } from "../exchange/ports.ts";
import type { KeyEntry } from "../secrets/key-file.ts";
import type { KeySource } from "../secrets/key-source.ts";
import type { Rekeyed, RekeyPlan } from "./keys/rekey.ts";
import type { ProfilePlace, SealingKey } from "../secrets/sealing.ts";

export interface StoreOptions {
  directory: string;
  keySource: KeySource;
  clock: Clock;
  /** As Node names it. */
  platform: string;
  /** Told once for what is no reason to stop, like a key file that others can read. */
  warn: (message: string) => void;
  /** Keys that were had already, by id: shared by all that is done with a state in one run. */
  keys?: Map<string, SealingKey>;
}

/** A state of this machine, and the key that it has in common with the secrets of the configuration. */
export interface LocalStore extends Store {
  /** Seals a secret of the configuration. To be called with the configuration held: a key is made where there is none. */
  sealSecret(place: ProfilePlace, text: string): Promise<string>;
  openSecret(place: ProfilePlace, sealed: string): Promise<string>;
  /** Where the keys come from that the key file tells of; null if there is no key file. */
  keys(): Pick<KeyEntry, "id" | "source">[] | null;
  /** Changes the key of everything: see `rekey`. */
  rekey(plan: RekeyPlan): Promise<Rekeyed>;
}
