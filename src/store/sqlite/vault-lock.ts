import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Actor } from "../../actor.ts";
import { attempt } from "../../attempt.ts";
import type { VaultError } from "../../errors.ts";
import type { Clock, Waiting } from "../../exchange/ports.ts";
import {
  isLockTaken,
  releaseLockFile,
  tryLockFile,
  tryShareLockFile,
} from "../../files/lock-file.ts";
import { ensurePrivateDirectory } from "../../files/private-directory.ts";
import { onState } from "../../files/state-error.ts";
import type { Lock } from "../../documents/state.ts";
import { busy, waitForLock } from "../vault-session.ts";

/** The locks of version 0.2.0, each of many vaults: whoever has one may be between ① and ④. */
const formerLocks = Array.from({ length: 64 }, (_, n) => String(n).padStart(2, "0"));

/** Name of a vault's lock, in which nothing stands as others wrote it. */
const nameOf = (uuid: string): string =>
  createHash("sha256").update(uuid.toLowerCase()).digest("hex").slice(0, 32);

/**
 * The lock files of one state (docs/design.md, Locks): one for each vault; `whole.lock`, which
 * whoever has a vault shares and an operation on the whole state has alone; `gate.lock`, shared for
 * the moment of taking, which the operation has from before it waits until it is done: so others
 * cannot keep it waiting by turns. Beside the lock of a held vault stands who has it.
 */
export class VaultLocks {
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #by: Actor;

  constructor(directory: string, clock: Clock, by: Actor) {
    this.#directory = directory;
    this.#clock = clock;
    this.#by = by;
  }

  /**
   * Locks a vault, waiting for its holder, and for an operation on the whole state. Returns what
   * releases it: that never throws, and a second call does nothing.
   * @throws `busy` at the deadline, `interrupted` when aborted, `state`
   */
  async take(uuid: string, waiting: Waiting): Promise<() => void> {
    const vault = uuid.toLowerCase();
    const name = nameOf(vault);
    const taken = await this.#wait(waiting, vault, () => this.#tryTake(name));
    this.#note(name, vault);
    return () => {
      if (taken.length > 0) this.#note(name, null);
      for (const each of taken.splice(0)) releaseLockFile(each);
    };
  }

  /**
   * Does the work with the whole state locked, so that no exchange is under way in any process.
   * @throws what `take` throws
   */
  async withAll<T>(waiting: Waiting, work: () => Promise<T>): Promise<T> {
    const taken: DatabaseSync[] = [];
    const take = async (name: string, patience?: number): Promise<void> => {
      const alone = (path: string) => tryLockFile(path, patience);
      taken.push(await this.#wait(waiting, undefined, () => this.#try(name, alone)));
    };
    try {
      await take("gate");
      await take("whole", 0);
      // Version 0.2.0 knows only these: if one exists, its processes may use any, even one to come.
      if (formerLocks.some((name) => existsSync(this.#path(name))))
        for (const name of formerLocks) await take(name);
      return await work();
    } finally {
      for (const each of taken) releaseLockFile(each);
    }
  }

  /** Who has locked which vault, in the order in which they took it. Does not wait. */
  holders(): Lock[] {
    const files = existsSync(this.#directory) ? readdirSync(this.#directory) : [];
    return files
      .flatMap((file) => (file.endsWith(".json") ? this.#holder(file.slice(0, -5)) : []))
      .toSorted((a, b) => (a.since < b.since ? -1 : 1));
  }

  /** Takes what `take` takes. `uuid` is undefined for the whole state. */
  async #wait<T>(waiting: Waiting, uuid: string | undefined, take: () => T | null): Promise<T> {
    if (!existsSync(this.#path("gate"))) ensurePrivateDirectory(this.#directory);
    return await waitForLock(this.#clock, waiting, uuid, () => take() ?? this.#obstacle(uuid));
  }

  #obstacle(uuid: string | undefined): VaultError {
    const [other] = uuid === undefined ? this.holders() : this.#holder(nameOf(uuid));
    if (other !== undefined) return busy(other);
    const isWhole = uuid === undefined || isLockTaken(this.#path("gate"));
    return isWhole ? busy({}, "changing the whole state") : busy({ uuid });
  }

  /** The locks of whoever has a vault, by the name of its lock; null while one is taken. */
  #tryTake(vault: string): DatabaseSync[] | null {
    const taken: DatabaseSync[] = [];
    try {
      for (const name of ["gate", "whole", vault]) {
        const lock = this.#try(name, name === vault ? tryLockFile : tryShareLockFile);
        if (lock === null) return null;
        taken.push(lock);
      }
      // The gate is for the moment of taking alone.
      return taken.splice(1);
    } finally {
      for (const each of taken) releaseLockFile(each);
    }
  }

  /** Says who has the lock, for `#holder`, or that nobody has it. Nothing depends on it. */
  #note(name: string, uuid: string | null): void {
    const path = this.#path(name, "json");
    const since = new Date(this.#clock.now()).toISOString();
    const lock = JSON.stringify({ uuid, holder: this.#by, since, endsAt: null });
    // As on a full disk: the others do not learn who has it.
    attempt(() => (uuid === null ? unlinkSync(path) : writeFileSync(path, lock, { mode: 0o600 })));
  }

  /** Who has that lock; nothing if nobody does, as after a killed process, or it is being taken. */
  #holder(name: string): [] | [Lock] {
    if (!onState(this.#path(name), () => isLockTaken(this.#path(name)))) return [];
    return (
      attempt(() => [JSON.parse(readFileSync(this.#path(name, "json"), "utf8")) as Lock]) ?? []
    );
  }

  #try(name: string, take: (path: string) => DatabaseSync | null): DatabaseSync | null {
    const path = this.#path(name);
    return onState(path, () => take(path));
  }

  #path(name: string, kind: "json" | "lock" = "lock"): string {
    return join(this.#directory, `${name}.${kind}`);
  }
}
