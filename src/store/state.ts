import type { Lock } from "../documents/state.ts";
import type { Store } from "../exchange/ports.ts";
import type { StoredWhole } from "./whole/stored-whole.ts";

/**
 * A state in its place: a directory of this machine, or a schema in a PostgreSQL that several
 * machines share. Reads nothing before the first call. Methods throw `state` if it cannot be used.
 */
export interface State extends Store {
  /** For messages, documents and marks: a directory, or an address without its password. */
  readonly shown: string;
  /** Whether machines share it: asking it takes a round trip, and each needs its key. */
  readonly isShared: boolean;
  /** Whether this process has made it, so far. Locking the first vault makes a local one. */
  readonly isNew: boolean;
  /**
   * Makes the state and its key as far as they are missing, durable before it returns; a second
   * call changes nothing. `grant` names a database role that gets all rights needed for use.
   * @throws `usage` for a role where there are none, before anything is made
   */
  create(grant?: string): Promise<Created>;
  /**
   * Adds, as candidates, what this machine has kept of exchanges that a shared state may have lost.
   * Skips vaults in use. A problem of one vault is a warning.
   */
  gather(signal: AbortSignal): Promise<void>;
  /** Who has locked which vault, in the order in which they took it. Never waits for them. */
  locks(): Promise<Lock[]>;
  whole(): Promise<StoredWhole>;
}

export interface Created {
  created: boolean;
  /** An older one was brought up to date. */
  updated: boolean;
  /** Id of the key that seals it. */
  keyId: string;
}
