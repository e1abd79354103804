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
  /** Receives problems that do not stop the command, like a key file that others can read; each once. */
  warn: (message: string) => void;
  /** Cached keys by id, shared by everything that uses the state in one run. */
  keys?: Map<string, SealingKey>;
}

/** A state on this machine, with the key that it shares with the secrets of the configuration. */
export interface LocalStore extends Store {
  /** Creates the database and its key, durably, as far as there are none; returns whether there was no database. */
  create(): Promise<boolean>;
  /** Seals a secret of the configuration. Creates a key if there is none, so the caller must hold the configuration's lock. */
  sealSecret(place: ProfilePlace, text: string): Promise<string>;
  openSecret(place: ProfilePlace, sealed: string): Promise<string>;
  /** The keys that the key file names; null if there is no key file. */
  keys(): Pick<KeyEntry, "id" | "source">[] | null;
  /** Seals everything with a new key, as `rekey`. */
  rekey(plan: RekeyPlan): Promise<Rekeyed>;
}
