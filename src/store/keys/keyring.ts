import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import type { KeyEntry } from "../../secrets/key-file.ts";
import { createKeyFile, readKeyFile } from "../../secrets/key-file.ts";
import type { KeySource } from "../../secrets/key-source.ts";
import { parseGivenKey, createKey, openWithPassphrase } from "../../secrets/key-source.ts";
import { holdsState, knownStates, realFolder, rememberState } from "./known-states.ts";
import { openReadOnly } from "../sqlite/open-database.ts";
import { one } from "../sqlite/query.ts";
import type { ProfilePlace, SealingKey } from "../../secrets/sealing.ts";
import { deriveKey, keyIdOf } from "../../secrets/sealing.ts";
import { command } from "../../way.ts";

/** The encryption keys of a state, each obtained at its first use and cached. One of them seals the whole database. */
export class Keyring {
  readonly #source: KeySource;
  readonly #state: string;
  readonly #warn: (message: string) => void;
  readonly #given: SealingKey | null;
  readonly #cached: Map<string, SealingKey>;
  #newest: SealingKey | null = null;
  #warned = false;

  /** `state` is the path that messages name; `cached` holds keys that were obtained before, by id. */
  constructor(
    source: KeySource,
    state: string,
    warn: (message: string) => void,
    cached = new Map<string, SealingKey>(),
  ) {
    this.#cached = cached;
    this.#source = source;
    this.#state = state;
    this.#warn = warn;
    this.#given = source.type === "given" ? source.key : null;
  }

  /**
   * The key that fits the sealed values of the database, which `ensure` or `prepare` has obtained.
   * @throws `state` if another key has replaced it: an outdated key must not seal
   */
  fitting(db: DatabaseSync): SealingKey {
    const needed = neededKeyId(db);
    if (needed === null && this.#newest !== null && this.#isNewest(this.#newest))
      return this.#newest;
    const key =
      needed === null ? undefined : (this.#cached.get(needed) ?? this.#withoutPrompt(needed));
    if (key !== undefined) return key;
    if (this.#source.type === "file" && this.#entries() === null) throw this.#missing(needed);
    throw this.#wrong(
      needed ?? "",
      this.#newest ?? this.#given ?? [...this.#cached.values()].at(-1) ?? null,
    );
  }

  /** Whether no rekey has begun since the key was read; one could leave behind what the key seals now. */
  #isNewest(key: SealingKey): boolean {
    return key === this.#given || this.#entries()?.at(-1)?.id === key.id;
  }

  /** A key that is available without asking for a passphrase or opening the keyring. */
  #withoutPrompt(id: string): SealingKey | undefined {
    if (this.#given !== null) return this.#given.id === id ? this.#given : undefined;
    const entry = this.#entries()?.find((each) => each.id === id);
    return entry?.source === "file" ? deriveKey(entry.material) : undefined;
  }

  /**
   * Obtains the key with this id, if values are sealed with one.
   * @throws `state`, before anything is written, if the key is not available or another one was given
   */
  async ensure(needed: string | null): Promise<void> {
    if (needed === null || this.#cached.has(needed)) return;
    const given = this.#given;
    if (
      given !== null &&
      given.id !== needed &&
      !this.#entries()?.some(({ id }) => id === given.id)
    )
      throw this.#wrong(needed, given);
    await this.key(needed);
  }

  /** Obtains the key with this id if the key file names it, even where another one is given, which may be for something else. */
  async obtain(id: string | null): Promise<void> {
    if (id !== null && this.#entries()?.some((entry) => entry.id === id) === true)
      await this.key(id);
  }

  /**
   * As `ensure`, and returns the key. If nothing is sealed yet it takes the newest key, and creates the key file if there is none. Call
   * it with the vault or the configuration locked, before the transaction; `fitting` then detects, inside the transaction, that
   * another process was faster with another key.
   */
  async prepare(needed: string | null): Promise<SealingKey> {
    if (needed === null) return (this.#newest = this.#given ?? (await this.#newestOfFile()));
    await this.ensure(needed);
    return await this.key(needed);
  }

  /** As `prepare`, for a value in the database: first remembers the state, so that a later rekey finds it. */
  async prepareState(needed: string | null): Promise<void> {
    if (needed === null) this.rememberState();
    await this.prepare(needed);
  }

  /** Path of the key file; null if the key is given. */
  get keyFile(): string | null {
    return this.#source.type === "file" ? this.#source.path : null;
  }

  /** Whether a key is given, or there is a key file. */
  get hasAny(): boolean {
    return this.#given !== null || this.#entries() !== null;
  }

  /** Records the state beside the key file, for a later rekey. Call it before the first value is sealed. */
  rememberState(): void {
    if (this.#source.type === "file") rememberState(this.#source.path, this.#state);
  }

  /**
   * Any key by its id: the given one, or one that the key file names.
   * @throws `state` if it is not available
   */
  async key(id: string): Promise<SealingKey> {
    const known = this.#given?.id === id ? this.#given : this.#cached.get(id);
    const entries = known === undefined ? this.#entries() : null;
    const entry = entries?.find((each) => each.id === id);
    const key =
      known ?? (entry === undefined ? undefined : await this.#open(entry, entries?.length === 1));
    if (key === undefined)
      throw entries === null ? this.#missing(id) : this.#wrong(id, entries.at(-1) ?? null);
    this.#cached.set(id, key);
    return key;
  }

  /**
   * The key of a secret of the configuration.
   * @throws `state` if this machine lacks it, naming the secret: the state may have another key
   */
  async keyOf({ profile, key: name }: ProfilePlace, id: string): Promise<SealingKey> {
    const isHere =
      this.#given?.id === id ||
      this.#cached.has(id) ||
      this.#entries()?.some((entry) => entry.id === id);
    if (isHere === true) return await this.key(id);
    const what = `the config key ${name} of profile ${profile} is encrypted with key ${id}`;
    const entries = this.#entries();
    const path = this.#source.path ?? "";
    const has = this.#given?.id ?? entries?.at(-1)?.id ?? "none";
    const why =
      entries === null && this.#given === null
        ? `the key file ${path} is missing, and ${what}`
        : `wrong key: ${what}, and the key in use is ${has}`;
    throw new VaultError("state", `${why}; the state is not affected; nothing was changed`, {
      hint: `the former key file also helps, put back as ${path}`,
      next: [
        {
          ...command`vault config set ${name} @FILE --profile ${profile}`,
          note: "stores it again",
        },
      ],
    });
  }

  async #newestOfFile(): Promise<SealingKey> {
    const { path, access } = this.#source;
    let entries = this.#entries();
    if (entries === null) {
      const sealed = (await access?.sealedInConfiguration()) ?? null;
      if (path === undefined || sealed !== null) throw this.#missing(sealed, "the configuration");
      const others = knownStates(path).filter(
        (state) => holdsState(state) && state !== realFolder(this.#state),
      );
      if (others.length > 0) throw keyFileMissing(path, others);
      const demand = this.#source.type === "file" ? (this.#source.demand ?? "file") : "file";
      const { key, entry } = await createKey({ source: demand }, access);
      this.#cached.set(key.id, key);
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
    if (
      entries !== null &&
      demand !== undefined &&
      !entries.some(({ source }) => source === demand)
    ) {
      throw new VaultError(
        "state",
        `the key source is set to ${demand} (stateKeySource, VAULTSVC_STATE_PASSPHRASE), but the key file ${path} says ${entries.at(-1)?.source}`,
        {
          next: [
            { ...command`vault state rekey --to ${demand}`, note: "changes the source" },
            {
              ...command`vault config unset stateKeySource`,
              note: "or unset VAULTSVC_STATE_PASSPHRASE",
            },
          ],
        },
      );
    }
    return entries;
  }

  async #open(entry: KeyEntry, isOnly: boolean): Promise<SealingKey> {
    const { access, path } = this.#source;
    const unfinished = isOnly
      ? ""
      : "; a key change was interrupted, run the same vault state rekey again";
    switch (entry.source) {
      case "file":
        return deriveKey(entry.material);
      case "passphrase":
        if (access === undefined) throw this.#missing(entry.id);
        return await openWithPassphrase(entry, access, unfinished);
      case "keyring": {
        const material = await (await access?.keyring())?.get(entry.id);
        if (material !== undefined && material !== null) return checked(entry.id, material);
        throw new VaultError(
          "state",
          `the operating system keyring does not have key ${entry.id}, which ${path} names`,
          {
            hint: "unlock or restore the keyring of this user, or use --state-key",
          },
        );
      }
      case "given":
        throw new VaultError("state", `key ${entry.id} must be given; ${path} only names it`, {
          hint: `use --state-key @FILE, or VAULTSVC_STATE_KEY${unfinished}`,
        });
    }
  }

  #missing(needed: string | null, where = this.#state): VaultError {
    const path = this.#source.path ?? "";
    const what =
      needed === null
        ? "nothing is encrypted yet"
        : `the secrets in ${where} are encrypted with key ${needed}`;
    return new VaultError("state", `the key file ${path} is missing, and ${what}`, {
      hint: "copy it from its backup, or from another machine that uses this state, or use --state-key (no other key opens them)",
    });
  }

  #wrong(needed: string, key: Pick<SealingKey, "id"> | null): VaultError {
    const hint =
      this.#source.type === "file"
        ? `use key ${needed} with --state-key, or put its key file at ${this.#source.path} unless something else needs the one there`
        : `use key ${needed} with --state-key (VAULTSVC_STATE_KEY), or leave it out to use the key file`;
    return new VaultError(
      "state",
      `wrong key: the secrets in ${this.#state} are encrypted with key ${needed}, and the key in use is ${key?.id ?? "none"}; nothing was changed`,
      { hint },
    );
  }
}

/** Id of the key that seals the database, or null if nothing is sealed. */
export function neededKeyId(db: DatabaseSync): string | null {
  const found = one<{ sealed: string }>(
    db,
    "SELECT sealed FROM credentials WHERE sealed IS NOT NULL LIMIT 1",
  );
  return found === undefined ? null : keyIdOf(found.sealed);
}

/** Id of the key that a state or a backup needs; null if nothing is sealed or the file cannot be read. */
export function neededKeyOf(file: string): string | null {
  try {
    const db = openReadOnly(file);
    try {
      return neededKeyId(db);
    } finally {
      db.close();
    }
  } catch {
    return null;
  }
}

/** The error for a missing key file that other states were begun with: a new file would take the place of theirs. */
function keyFileMissing(path: string, states: readonly string[]): VaultError {
  return new VaultError(
    "state",
    `the key file ${path} is missing, and ${states.join(", ")} may be encrypted with its key`,
    {
      hint: `restore the key file from its backup, or remove ${path}.states, which gives those states up`,
      next: [{ ...command`vault config set stateKeyFile FILE`, note: "uses another key file" }],
    },
  );
}

function checked(id: string, material: string): SealingKey {
  const key = parseGivenKey(material, `key ${id} in the operating system keyring`);
  if (key.id === id) return key;
  throw new VaultError(
    "state",
    `the operating system keyring has another key under the name of key ${id}`,
    {
      hint: "restore the keyring of this user from its backup",
    },
  );
}
