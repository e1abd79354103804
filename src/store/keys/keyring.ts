import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import type { KeyEntry } from "../../secrets/key-file.ts";
import { createKeyFile, readKeyFile } from "../../secrets/key-file.ts";
import type { KeySource } from "../../secrets/key-source.ts";
import { parseGivenKey } from "../../secrets/key-source.ts";
import { isThere, knownStates, realFolder, rememberState } from "./known-states.ts";
import { makeKey } from "./new-key.ts";
import { stretch } from "../../secrets/passphrase.ts";
import { one } from "../sqlite/query.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { deriveKey, keyIdOf } from "../../secrets/sealing.ts";

/** The keys of a state, each had when it is first needed. One of them seals all of its database. */
export class Keyring {
  readonly #source: KeySource;
  readonly #state: string;
  readonly #warn: (message: string) => void;
  readonly #given: SealingKey | null;
  readonly #had: Map<string, SealingKey>;
  #newest: SealingKey | null = null;
  #warned = false;

  /**
   * `state` is the path that messages name; `had` are keys that were had before.
   * @throws `invalid-input` for a given key that is none
   */
  constructor(source: KeySource, state: string, warn: (message: string) => void, had = new Map<string, SealingKey>()) {
    this.#had = had;
    this.#source = source;
    this.#state = state;
    this.#warn = warn;
    this.#given = source.type === "given" ? parseGivenKey(source.key) : null;
  }

  /**
   * The key that fits the sealed values of the database, which `ensure` or `prepare` has made ready.
   * @throws `state` if it is another one by now: what is outdated must not seal
   */
  fitting(db: DatabaseSync): SealingKey {
    const needed = neededKeyId(db);
    if (needed === null && this.#newest !== null && this.#isNewest(this.#newest)) return this.#newest;
    const key = needed === null ? undefined : (this.#had.get(needed) ?? this.#atHand(needed));
    if (key !== undefined) return key;
    if (this.#source.type === "file" && this.#entries() === null) throw this.#missing(needed);
    throw this.#wrong(needed ?? "", this.#newest ?? this.#given ?? [...this.#had.values()].at(-1) ?? null);
  }

  /** False once a rekey has begun since it was read: what is sealed with it now could be left behind. */
  #isNewest(key: SealingKey): boolean {
    return key === this.#given || this.#entries()?.at(-1)?.id === key.id;
  }

  /** A key that nobody needs to be asked for. */
  #atHand(id: string): SealingKey | undefined {
    if (this.#given !== null) return this.#given.id === id ? this.#given : undefined;
    const entry = this.#entries()?.find((each) => each.id === id);
    return entry?.source === "file" ? deriveKey(entry.material) : undefined;
  }

  /**
   * Makes the key of this id ready, if values are sealed with one.
   * @throws `state`, before anything is written, if it cannot be had or another one was given
   */
  async ensure(needed: string | null): Promise<void> {
    if (needed === null || this.#had.has(needed)) return;
    const given = this.#given;
    if (given !== null && given.id !== needed && !this.#entries()?.some(({ id }) => id === given.id)) throw this.#wrong(needed, given);
    await this.key(needed);
  }

  /**
   * As `ensure`; where nothing is sealed yet it takes the newest key, and makes the key file if there is none. To be called
   * with the vault or the configuration held and outside of a transaction; `fitting` inside it then sees whether another process was
   * faster with another key.
   */
  async prepare(needed: string | null): Promise<void> {
    if (needed !== null) return await this.ensure(needed);
    this.#newest = this.#given ?? (await this.#newestOfFile());
  }

  /** As `prepare`, for a value of the database: a later rekey is to find the state. */
  async prepareState(needed: string | null): Promise<void> {
    if (needed === null) this.rememberState();
    await this.prepare(needed);
  }

  /** As `prepare`, for a value outside of the database; returns the key that is to seal it. */
  async forSecret(needed: string | null): Promise<SealingKey> {
    await this.prepare(needed);
    const key = needed === null ? this.#newest : this.#had.get(needed);
    return key ?? (await this.key(needed ?? ""));
  }

  /** Null where the key does not come by way of one. */
  get keyFile(): string | null {
    return this.#source.type === "file" ? this.#source.path : null;
  }

  /** Notes the state beside the key file, for a later rekey; before the first value that it seals. */
  rememberState(): void {
    if (this.#source.type === "file") rememberState(this.#source.path, this.#state);
  }

  /**
   * Any key by its id: the given one, or by the key file.
   * @throws `state` if it cannot be had
   */
  async key(id: string): Promise<SealingKey> {
    const had = this.#given?.id === id ? this.#given : this.#had.get(id);
    const entries = had === undefined ? this.#entries() : null;
    const entry = entries?.find((each) => each.id === id);
    const key = had ?? (entry === undefined ? undefined : await this.#open(entry, entries?.length === 1));
    if (key === undefined) throw entries === null ? this.#missing(id) : this.#wrong(id, entries.at(-1) ?? null);
    this.#had.set(id, key);
    return key;
  }

  async #newestOfFile(): Promise<SealingKey> {
    const { path, access } = this.#source;
    let entries = this.#entries();
    if (entries === null) {
      const sealed = (await access?.sealedInConfiguration()) ?? null;
      if (path === undefined || sealed !== null) throw this.#missing(sealed, "the configuration");
      const others = knownStates(path).filter((state) => isThere(state) && state !== realFolder(this.#state));
      if (others.length > 0) throw goneFor(path, others);
      const demand = this.#source.type === "file" ? (this.#source.demand ?? "file") : "file";
      const { key, entry } = await makeKey({ source: demand }, access);
      this.#had.set(key.id, key);
      entries = createKeyFile(path, entry, this.#warn);
    }
    const [newest] = entries.slice(-1);
    if (newest === undefined) throw this.#missing(null);
    return await this.key(newest.id);
  }

  #entries(): KeyEntry[] | null {
    const { path } = this.#source;
    if (path === undefined) return null;
    const entries = readKeyFile(path, (message) => {
      if (!this.#warned) this.#warn(message);
      this.#warned = true;
    });
    const demand = this.#source.type === "file" ? this.#source.demand : undefined;
    if (entries !== null && demand !== undefined && !entries.some(({ source }) => source === demand)) {
      throw new VaultError(
        "state",
        `the key is to be of source ${demand} (stateKeySource, VAULTSVC_STATE_PASSPHRASE), and the key file ${path} says ${entries.at(-1)?.source}`,
        {
          hint: `to change it to that source: vault config rekey --to ${demand}; or take the setting back: vault config unset stateKeySource, unset VAULTSVC_STATE_PASSPHRASE`,
        },
      );
    }
    return entries;
  }

  async #open(entry: KeyEntry, isOnly: boolean): Promise<SealingKey> {
    const { access, path } = this.#source;
    const unfinished = isOnly ? "" : "; a change of the key was stopped before its end: run the same vault config rekey again";
    switch (entry.source) {
      case "file":
        return deriveKey(entry.material);
      case "passphrase": {
        if (access === undefined) throw this.#missing(entry.id);
        const key = await stretch(await access.passphrase(entry.id), entry);
        if (key.id === entry.id) return key;
        throw new VaultError("state", `wrong passphrase: it is not the one of key ${entry.id}; nothing was changed`, {
          hint: `give the right one with VAULTSVC_STATE_PASSPHRASE, or when it is asked for${unfinished}`,
        });
      }
      case "keyring": {
        const material = await (await access?.keyring())?.get(entry.id);
        if (material !== undefined && material !== null) return checked(entry.id, material);
        throw new VaultError("state", `the keyring of the operating system does not hold key ${entry.id}, which ${path} names`, {
          hint: "unlock the keyring of this user, or restore it; or give the key with --state-key",
        });
      }
      case "given":
        throw new VaultError("state", `key ${entry.id} is one that you give: ${path} only names it`, {
          hint: `give it with --state-key @FILE, or VAULTSVC_STATE_KEY${unfinished}`,
        });
    }
  }

  #missing(needed: string | null, where = this.#state): VaultError {
    const path = this.#source.path ?? "";
    const what = needed === null ? "nothing is sealed yet" : `the secrets in ${where} are sealed with key ${needed}`;
    return new VaultError("state", `the key file ${path} is missing, and ${what}`, {
      hint: `put the key file back from its backup, or give the key with --state-key; no other key opens them`,
    });
  }

  #wrong(needed: string, key: Pick<SealingKey, "id"> | null): VaultError {
    const hint =
      this.#source.type === "file"
        ? `put the key file of key ${needed} at ${this.#source.path}, or give that key with --state-key`
        : `give key ${needed} with --state-key (VAULTSVC_STATE_KEY), or leave it out to use the key file`;
    return new VaultError(
      "state",
      `wrong key: the secrets in ${this.#state} are sealed with key ${needed}, and the key in use is ${key?.id ?? "none"}; nothing was changed`,
      { hint },
    );
  }
}

/** The id of the key that the sealed values need, or null if nothing is sealed. One key seals them all. */
export function neededKeyId(db: DatabaseSync): string | null {
  const found = one<{ sealed: string }>(db, "SELECT sealed FROM credentials WHERE sealed IS NOT NULL LIMIT 1");
  return found === undefined ? null : keyIdOf(found.sealed);
}

/** Other states were begun with the key file that is gone: a new one would stand where theirs has to be put back. */
function goneFor(path: string, states: readonly string[]): VaultError {
  return new VaultError("state", `the key file ${path} is missing, and ${states.join(", ")} may be sealed with its key`, {
    hint: `put the key file back from its backup; or begin with another one: vault config set stateKeyFile FILE; if they are given up: rm ${path}.states`,
  });
}

function checked(id: string, material: string): SealingKey {
  const key = parseGivenKey(material, `key ${id} in the keyring of the operating system`);
  if (key.id === id) return key;
  throw new VaultError("state", `the keyring of the operating system holds another key under the name of key ${id}`, {
    hint: "restore the keyring of this user from its backup",
  });
}
