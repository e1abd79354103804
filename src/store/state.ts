import type { Actor } from "../actor.ts";
import type { VaultError } from "../errors.ts";
import type { Store, Waiting } from "../exchange/ports.ts";
import type { DiskFacts } from "../files/disk.ts";
import type { GivenKey, KeyPlace } from "../secrets/keys.ts";
import type { SealingKey } from "../secrets/sealing.ts";
import type { RestoredVault } from "./backup/restore-vault.ts";
import type { StateHistory } from "./sqlite/snapshot.ts";
import type { WholePlace } from "./whole/whole.ts";

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
  /** Operations on the whole of it. */
  whole(): Promise<WholeState>;
}

export interface Created {
  created: boolean;
  /** An older one was brought up to date. */
  updated: boolean;
  /** Id of the key that seals it. */
  keyId: string;
}

/** A vault that is in use; times in ISO 8601. */
export interface Lock {
  uuid: string;
  holder: Actor;
  since: string;
  /** Null where the operating system releases it when its process ends. */
  endsAt: string | null;
}

/** Operations on a whole state. Each engine's method does what only that engine needs. */
export interface WholeState extends WholePlace {
  /** The state that it is. */
  readonly store: Pick<State, "isShared" | "now">;
  /**
   * Copies a snapshot into one file while others go on. Values stay sealed; the key is not copied.
   * The file (mode 0600, alike for both engines) is whole and durable when this resolves, or does
   * not exist. Before, all credentials count as known elsewhere; failing that is a warning.
   * @throws `state` if there is no state, or the file cannot be written
   */
  backup(file: string): Promise<BackupFacts>;
  /** See `prepareRestore`; `file` is absolute, `key` that of the file if not this state's. */
  prepareRestore(file: string, key?: GivenKey): Promise<Restore>;
  /** Finds out what it can without changing anything. A problem is a fact. */
  inspect(): Promise<StateFacts>;
  /** What the journal tells, as of now; null where there is none. */
  history(): Promise<StateHistory | null>;
  /**
   * Seals it with another key, named in the same transaction: whoever has the former key writes
   * nothing from then on. `to` is kept elsewhere; without it, a new one is made in a file.
   * @throws `busy`, `interrupted`; `state` if a value does not open, and nothing is changed
   */
  rekey(to: SealingKey | undefined, waiting: Waiting): Promise<Rekeyed>;
}

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

/** What a backup or a state holds. */
export interface Holdings {
  vaults: number;
  /** Exchanges that wait for an acknowledgement, or are in doubt. */
  pending: number;
  /** Id of the key that opens the sealed values; null if there are none. */
  keyId: string | null;
  /** Version of the schema. */
  format: number;
}

export interface BackupFacts extends Holdings {
  /** Absolute path. */
  file: string;
  /** Size of the file. */
  bytes: number;
  /** Time of the backup, ISO 8601. */
  at: string;
}

/** What a restore has done. */
export interface RestoreFacts {
  vaults: RestoredVault[];
  /** Vaults that others held for too long; nothing of them was restored. */
  failed: { service: string; uuid: string; label: string | null; error: VaultError }[];
}

/** A restore that was prepared: nothing is changed yet. */
export interface Restore {
  backup: Holdings;
  /** There is no state yet that holds anything. */
  isEmpty: boolean;
  /** @throws `interrupted`, `state`, with some of the vaults restored; `busy` before that */
  run: (waiting: Waiting) => Promise<RestoreFacts>;
}

/** What can be found out about a state without changing anything. */
export interface StateFacts {
  /** Why it cannot be used. */
  problem: VaultError | null;
  /** How many there are; null if there is no state yet, or it cannot be read. */
  vaults: number | null;
  /** What its place says of itself; null if it cannot be asked. */
  place: DirectoryFacts | ServerFacts | null;
}

/** What can be found out about the key of a state without changing anything. */
interface KeyFacts extends KeyPlace {
  /** Null if there is no key yet. */
  id: string | null;
  /** Number of values that it opens. */
  opened: number;
  /** Why the key cannot be used, or does not open the first value that fails. */
  problem: VaultError | null;
}

export interface DirectoryFacts {
  type: "directory";
  directory: string;
  /** What SQLite finds wrong with the database; empty if nothing is. */
  damage: string[];
  disk: DiskFacts | null;
  /** Of the key file; null where the key is elsewhere. */
  keyDisk: DiskFacts | null;
  key: KeyFacts;
  /** The journal's newest backup. */
  lastBackup: { at: string; file: string } | null;
}

export interface ServerFacts {
  type: "server";
  location: string;
  hasTls: boolean;
  keyId: string;
}
