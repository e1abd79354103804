import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { VaultError } from "../errors.ts";
import { createFile } from "../files/durable-file.ts";
import {
  checkOwner,
  checkWriters,
  ensurePrivateDirectory,
  fileIfThere,
} from "../files/private-directory.ts";
import { onState, unusable } from "../files/state-error.ts";
import { deriveKey, type SealingKey } from "./sealing.ts";
import { command, noted } from "../way.ts";

/** Where the key of a state comes from: what gives it, or else its file. */
export interface KeySource {
  /** Folder of the key files, in the configuration directory. */
  folder: string;
  uid?: number | undefined;
  given?: GivenKey | undefined;
  /** Keys obtained in this run, by id: of several states, and of the configuration. */
  cached?: Map<string, SealingKey>;
  /** The flag that gives it to a command, if that is not --state-key. */
  flag?: string;
  /** Path of the key file of version 0.2.0, which had the keys of all states. */
  formerFile?: () => string;
}

/** A key from a flag, a variable or a command. */
export interface GivenKey {
  /** Its flag, variable or command, as messages name it. */
  by: string;
  /** @throws `invalid-input` if it is no key */
  read: () => Promise<SealingKey>;
}

export function givenKey(text: string, by = "--state-key"): GivenKey {
  const key = parseGivenKey(text, by);
  return { by, read: async () => await Promise.resolve(key) };
}

/**
 * The key of 32 bytes as base64 or hexadecimal digits, or of a key file.
 * @throws `invalid-input` for anything else; never shows the value
 */
export function parseGivenKey(text: string, flag: string): SealingKey {
  const material = parseKey(text);
  if (material !== null) return deriveKey(material);
  throw new VaultError(
    "invalid-input",
    `${flag}: must be 32 bytes, as base64 or as 64 hexadecimal digits`,
    { next: [noted(command`openssl rand -base64 32`, "makes a new one")] },
  );
}

export interface KeyPlace {
  source: string;
  /** The key file, which needs a backup; null if the key comes from elsewhere, or there is none yet. */
  file: string | null;
}

/** The place of the key with this id; null for one that is still to be made. */
export function keyPlace({ folder, given }: KeySource, id: string | null): KeyPlace {
  if (given !== undefined) return { source: `given by ${given.by}`, file: null };
  if (id === null) return { source: `a key file in ${folder}`, file: null };
  const file = keyFileOf(folder, id);
  return { source: `key file ${file}`, file };
}

export const keyFileOf = (folder: string, name: string): string => join(folder, `${name}.key`);

/** Whose key files they are: another user's are refused, and what others can read draws a warning. */
export interface KeyOwner {
  uid?: number | undefined;
  warn: (message: string) => void;
}

/**
 * The key in a file; null if there is none.
 * @throws `state` if it cannot be read, is no key, or others can write it
 */
export function readKeyFile(path: string, owner: KeyOwner): SealingKey | null {
  const text = readKeyText(path, owner);
  if (text === null) return null;
  const material = parseKey(text);
  if (material === null) throw notAKeyFile(path, "it does not contain 32 bytes in base64");
  return deriveKey(material);
}

function readKeyText(path: string, { uid, warn }: KeyOwner): string | null {
  checkOwner(path, uid, "the key file");
  const stats = fileIfThere(path, "the key file");
  if (stats === null) return null;
  checkWriters(path, stats, "the key file");
  return onState(path, () => {
    const text = readFileSync(path, "utf8");
    if ((stats.mode & 0o077) !== 0)
      warn(`other users can read the key file ${path}; to fix it: chmod 600 ${path}`);
    return text;
  });
}

/** The 32 bytes of a key; null if it is none. A file of version 0.2.0 has the id in front, and its newest key in the last line. */
function parseKey(text: string): Buffer | null {
  const line = text.trim().split("\n").at(-1) ?? "";
  const key = line.replace(/^vaultsvc-key-1 [0-9a-f]{16} /, "").trim();
  if (/^[0-9a-fA-F]{64}$/.test(key)) return Buffer.from(key, "hex");
  if (/^[A-Za-z0-9+/]{43}=$/.test(key)) return Buffer.from(key, "base64");
  return null;
}

/**
 * Makes a key and its file, durable before this returns, which has the id of the key for a name, if no other. Call it only if nothing is
 * sealed, or to seal all of it again.
 */
export function makeKeyFile(folder: string, name?: string): SealingKey {
  const material = randomBytes(32);
  const key = deriveKey(material);
  writeKeyFile(keyFileOf(folder, name ?? key.id), material);
  return key;
}

/** Writes a key file, durably, unless it is there. */
function writeKeyFile(path: string, material: Buffer): void {
  ensurePrivateDirectory(dirname(path), "the folder of the key files");
  onState(path, () =>
    createFile(path, (draft) => writeFileSync(draft, `${material.toString("base64")}\n`)),
  );
}

function notAKeyFile(path: string, why: string): VaultError {
  const hint = "restore the key file from its backup; it was not changed";
  return unusable(path, why, { hint }, "the key file");
}

/**
 * Copies the key with this id from the key file of version 0.2.0, one a line (`vaultsvc-SOURCE-1 ID …`), into a file of its own, if that can
 * be written; null if the former file, which is left as it is, does not have it.
 * @throws `state` for a key that is in the keyring of the operating system or comes from a passphrase, with a command that prints it
 */
function copyFormerKey(
  { folder, formerFile, uid }: KeySource,
  id: string,
  warn: KeyOwner["warn"],
): SealingKey | null {
  if (formerFile === undefined) return null;
  const path = formerFile();
  const lines = readKeyText(path, { uid, warn })?.split("\n") ?? [];
  const line = lines.find((each) => each.split(" ")[1] === id);
  const source = /^vaultsvc-(\w+)-1 /.exec(line ?? "")?.[1];
  if (line === undefined || source === "given") return null;
  if (source === "keyring")
    throw isPrinted(id, "is in the keyring of the operating system", {
      "on Linux": `secret-tool lookup service vaultsvc username ${id}`,
      "on macOS": `security find-generic-password -s vaultsvc -a ${id} -w`,
    });
  const [, log2N, r, p, salt] = / scrypt:(\d+):(\d+):(\d+) ([\w+/=-]+)$/.exec(line) ?? [];
  if (source === "passphrase" && salt !== undefined)
    throw isPrinted(id, "is derived from a passphrase", {
      "with your passphrase, or what prints it": `node -p 'require("crypto").scryptSync("PASSPHRASE".normalize("NFKC"), Buffer.from("${salt}", "base64"), 32, {N: 2 ** ${log2N}, r: ${r}, p: ${p}, maxmem: 2 ** 31}).toString("base64")'`,
    });
  const material = parseKey(line);
  if (material === null || deriveKey(material).id !== id)
    throw notAKeyFile(path, `the line of key ${id} is garbled`);
  try {
    writeKeyFile(keyFileOf(folder, id), material);
  } catch (error) {
    // The configuration may be read-only: the former file still has the key.
    warn(`key ${id} of ${path} could not be copied: ${(error as Error).message}`);
  }
  return deriveKey(material);
}

const isPrinted = (id: string, where: string, by: Record<string, string>): VaultError =>
  new VaultError("state", `key ${id} ${where}`, {
    hint: "this version takes it from a command that prints it",
    next: Object.entries(by).map(([note, printing]) =>
      noted(command`vault config set stateKeyCommand ${printing}`, note),
    ),
  });

/**
 * The keys of a state by their ids, each obtained at its first use. The state names the one that
 * seals it; if it names none yet, a new one is made, so that two states never share a key.
 */
export class Keyring {
  readonly #source: KeySource;
  readonly #state: string;
  readonly #warn: (message: string) => void;
  readonly #cached: Map<string, SealingKey>;

  /** `state` is the path that messages name. */
  constructor(source: KeySource, state: string, warn: (message: string) => void) {
    this.#source = source;
    this.#state = state;
    this.#warn = warn;
    this.#cached = source.cached ?? new Map<string, SealingKey>();
  }

  /**
   * The key with this id, from its source.
   * @throws `state`, naming where it is to be set, if its source does not have it
   */
  async key(id: string): Promise<SealingKey> {
    const { given } = this.#source;
    const known = this.#cached.get(id);
    // What a file has must not stand in for a wrong key that is given.
    const key = known ?? (given === undefined ? await this.find(id) : await given.read());
    if (key?.id !== id) throw this.#lacking(id, key);
    return this.#keep(key);
  }

  /** A key on this machine, for what another key has sealed; null if it is not here. */
  async find(id: string): Promise<SealingKey | null> {
    const { given } = this.#source;
    const own = this.#cached.get(id) ?? this.#fromFile(id) ?? (await given?.read());
    const key = own?.id === id ? own : copyFormerKey(this.#source, id, this.#warn);
    return given === undefined && key !== null ? this.#keep(key) : key;
  }

  /** What makes the key of a state that has none, or another one: a given one, or one in a file. */
  async fresh(replacing?: SealingKey): Promise<() => SealingKey> {
    const given = replacing ?? (await this.#source.given?.read());
    return () => this.#keep(given ?? makeKeyFile(this.#source.folder));
  }

  #keep(key: SealingKey): SealingKey {
    this.#cached.set(key.id, key);
    return key;
  }

  /** @throws `state` for a file that has another key */
  #fromFile(id: string): SealingKey | null {
    const path = keyFileOf(this.#source.folder, id);
    const key = readKeyFile(path, { uid: this.#source.uid, warn: this.#warn });
    if (key === null || key.id === id) return key;
    throw notAKeyFile(path, `it has another key (${key.id})`);
  }

  #lacking(id: string, other: SealingKey | null): VaultError {
    const { folder, given, flag } = this.#source;
    const file = keyFileOf(folder, id);
    const what = `the secrets in ${this.#state} are encrypted with key ${id}`;
    const ways = flag ?? "--state-key, VAULTSVC_STATE_KEY or the config key stateKeyCommand";
    if (given === undefined)
      return new VaultError("state", `the key file ${file} is missing, and ${what}`, {
        hint: `copy it there from its backup, or from another machine that uses this state; or set that key with ${ways} (no other key opens them)`,
      });
    const has = `${given.by} has key ${other?.id}`;
    return new VaultError("state", `wrong key: ${what}, and ${has}; nothing was changed`, {
      hint:
        flag === undefined || flag === given.by
          ? `set ${given.by} to key ${id}; or leave it out, with the file of that key at ${file}`
          : `set key ${id} with ${flag}`,
    });
  }
}
