import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Clock, Waiting } from "../../exchange/ports.ts";
import { isLockTaken, releaseLockFile, tryLockFile } from "../../files/lock-file.ts";
import { ensurePrivateDirectory } from "../../files/private-directory.ts";
import { onState } from "../../files/state-error.ts";
import { longestPauseMs, waitForLock } from "../wait-for-lock.ts";

/** Number of lock files, which all vaults share. They are never removed, because a lock on a removed file locks nothing. */
export const lockSlots = 64;

/** The slot of a vault, the same in every process and version. */
export const slotOf = (uuid: string): number =>
  (createHash("sha256").update(uuid.toLowerCase()).digest()[0] ?? 0) % lockSlots;

/** The file of a slot, in the directory of the locks. */
export const lockPath = (directory: string, slot: number): string =>
  join(directory, `${String(slot).padStart(2, "0")}.lock`);

/** The lock of a vault, held by this process. */
export interface VaultLock {
  slot: number;
  /** New each time that a process takes the slot. */
  epoch: number;
  /** Never throws; a second call does nothing. */
  release(): void;
}

/** Records which vaults this process has locked in a slot, and since when (ISO 8601). Returns the epoch of a slot that it has just taken. */
export type RecordHolders = (
  slot: number,
  vaults: ReadonlyMap<string, string>,
  isTaken: boolean,
) => Promise<number>;

/** How long a process may hold a slot before others get their turn, in milliseconds: it then takes no further vault in it. */
const turnMs = 1000;

/** A slot that this process holds, for one or more vaults. */
interface LockedSlot {
  connection: DatabaseSync;
  /** By vault, since when. */
  holders: Map<string, string>;
  epoch: Promise<number>;
  /** On `Clock.elapsed`. */
  takenAt: number;
  /** Whether a vault of this process waits until others had their turn. */
  isDue: boolean;
}

/**
 * The vault locks of one state. A slot is a small database with an open exclusive transaction, which the operating system ends
 * when the process dies. Vaults of this process with the same slot share it, for a turn; the same vault cannot be locked twice.
 */
export class VaultLocks {
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #record: RecordHolders;
  readonly #slots = new Map<number, LockedSlot>();
  /** Until when a slot is left to other processes, on `Clock.elapsed`. */
  readonly #leftUntil = new Map<number, number>();

  constructor(directory: string, clock: Clock, record: RecordHolders) {
    this.#directory = directory;
    this.#clock = clock;
    this.#record = record;
  }

  /**
   * Locks a vault, waiting for other holders of its slot.
   * @throws `busy` at the deadline, `interrupted` when aborted, `state`
   */
  async take(uuid: string, waiting: Waiting): Promise<VaultLock> {
    const holder = uuid.toLowerCase();
    const slot = slotOf(holder);
    const locked = await waitForLock(this.#clock, waiting, holder, () =>
      this.#tryTake(slot, holder),
    );
    let released = false;
    const release = (): void => {
      if (!released) this.#release(slot, holder, locked);
      released = true;
    };
    try {
      return { slot, epoch: await locked.epoch, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /**
   * Does the work with every slot taken, so that no exchange is under way in any process.
   * @throws what `take` throws
   */
  async withAll<T>(waiting: Waiting, work: () => Promise<T>): Promise<T> {
    const taken: DatabaseSync[] = [];
    try {
      for (let slot = 0; slot < lockSlots; slot += 1)
        taken.push(await waitForLock(this.#clock, waiting, undefined, () => this.#tryOpen(slot)));
      return await work();
    } finally {
      for (const connection of taken) releaseLockFile(connection);
    }
  }

  /** Whether a process has a slot for some vault. Does not wait. */
  isTaken(slot: number): boolean {
    const path = lockPath(this.#directory, slot);
    return this.#slots.has(slot) || onState(path, () => isLockTaken(path));
  }

  #tryTake(slot: number, holder: string): LockedSlot | null {
    const shared = this.#slots.get(slot);
    const now = this.#clock.elapsed();
    const since = new Date(this.#clock.now()).toISOString();
    if (shared !== undefined) {
      if (shared.holders.has(holder)) return null;
      shared.isDue ||= now - shared.takenAt >= turnMs;
      if (shared.isDue) return null;
      shared.holders.set(holder, since);
      const recorded = this.#record(slot, shared.holders, false);
      shared.epoch = Promise.all([shared.epoch, recorded]).then(([epoch]) => epoch);
      return shared;
    }
    if (now < (this.#leftUntil.get(slot) ?? 0)) return null;
    const connection = this.#tryOpen(slot);
    if (connection === null) return null;
    const holders = new Map([[holder, since]]);
    const locked = {
      connection,
      holders,
      epoch: this.#record(slot, holders, true),
      takenAt: now,
      isDue: false,
    };
    this.#slots.set(slot, locked);
    return locked;
  }

  #release(slot: number, holder: string, locked: LockedSlot): void {
    locked.holders.delete(holder);
    if (locked.holders.size > 0) return;
    this.#slots.delete(slot);
    if (locked.isDue) this.#leftUntil.set(slot, this.#clock.elapsed() + longestPauseMs);
    releaseLockFile(locked.connection);
  }

  #tryOpen(slot: number): DatabaseSync | null {
    const path = lockPath(this.#directory, slot);
    if (!existsSync(path)) ensurePrivateDirectory(this.#directory);
    return onState(path, () => tryLockFile(path));
  }
}
