import { randomBytes } from "node:crypto";
import type { KeyEntry } from "./key-file.ts";
import { parseLine } from "./key-file.ts";
import type { SealingKey } from "./sealing.ts";
import { deriveFromPassphrase, deriveKey, newSalt } from "./sealing.ts";
import { VaultError } from "../errors.ts";
import { command } from "../way.ts";

/** The source of the encryption key of secrets at rest. */
export type KeySource =
  /**
   * The key file, which is created on first use. Its lines say where their keys come from. `demand` is the source that the
   * configuration asks for: a new key gets it, and another source is an error.
   */
  | {
      type: "file";
      path: string;
      demand?: Exclude<KeyEntry["source"], "given">;
      access?: KeyAccess;
    }
  /** --state-key, VAULTSVC_STATE_KEY. `path` is the key file, for values that a rekey has left under another key. */
  | { type: "given"; key: SealingKey; path?: string; access?: KeyAccess };

/** Access to keys that are not in the key file. */
export interface KeyAccess {
  /**
   * The passphrase of the key with this id; null for a new key, which asks twice.
   * @throws `usage` if nobody can be asked
   */
  passphrase(id: string | null): Promise<string>;
  /** @throws `state` if no keyring is available */
  keyring(): Promise<OsKeyring>;
  /** Id of the key of a value in the configuration that is sealed with this key file; null if there is none. */
  sealedInConfiguration(): Promise<string | null>;
}

/** The keyring of the operating system: 32 bytes in base64 under the id of their key. Its methods reject with `state`. */
export interface OsKeyring {
  get(id: string): Promise<string | null>;
  set(id: string, material: string): Promise<void>;
  remove(id: string): Promise<void>;
}

const givenBy = "--state-key (VAULTSVC_STATE_KEY)";

/** A key that exists elsewhere, and its entry for the key file of this machine. */
export interface KeyElsewhere {
  source: "elsewhere";
  key: SealingKey;
  entry: KeyEntry;
}

/**
 * As `parseGivenKey`, also of a key file whose key is derived from a passphrase.
 * @throws `usage` without the passphrase, `state` for a wrong one
 */
export async function openGivenKey(text: string, access: KeyAccess): Promise<KeyElsewhere> {
  const line = newestLine(text);
  if (!/^vaultsvc-(?!key-)/.test(line)) {
    const material = keyMaterial(line);
    const key = deriveKey(material);
    return { source: "elsewhere", key, entry: { source: "file", id: key.id, material } };
  }
  const entry = parseLine("that --state-key gives", line);
  if (entry.source === "passphrase")
    return { source: "elsewhere", key: await openWithPassphrase(entry, access), entry };
  const where = entry.source === "keyring" ? "is in a keyring" : "is not stored with it";
  throw new VaultError(
    "invalid-input",
    `${givenBy}: the key file only names key ${entry.id}, which ${where}`,
    entry.source === "keyring"
      ? {
          next: [
            {
              ...command`vault state rekey --to file`,
              note: "on the machine with that keyring, whose key file then has it",
            },
          ],
        }
      : { hint: "use the key itself, as it was given to --new-state-key" },
  );
}

/** @throws `usage` without the passphrase, `state` for a wrong one, with what else its hint shall say */
export async function openWithPassphrase(
  entry: Extract<KeyEntry, { source: "passphrase" }>,
  access: KeyAccess,
  more = "",
): Promise<SealingKey> {
  const key = await deriveFromPassphrase(await access.passphrase(entry.id), entry);
  if (key.id === entry.id) return key;
  throw new VaultError("state", `wrong passphrase for key ${entry.id}; nothing was changed`, {
    hint: `set VAULTSVC_STATE_PASSPHRASE, or unset it and enter the passphrase when asked${more}`,
  });
}

/**
 * The key of 32 bytes as base64 or hexadecimal digits, or of a key file, as another machine has it: the newest one in it.
 * @throws `invalid-input` for anything else; never shows the value
 */
export const parseGivenKey = (text: string, flag?: string): SealingKey =>
  deriveKey(keyMaterial(text, flag));

/** The line of the newest key. */
const newestLine = (text: string): string => text.trim().split("\n").at(-1) ?? "";

/** The 32 bytes of such a key. */
function keyMaterial(text: string, flag = givenBy): Buffer {
  const key = newestLine(text)
    .replace(/^vaultsvc-key-1 [0-9a-f]{16} /, "")
    .trim();
  if (/^[0-9a-fA-F]{64}$/.test(key)) return Buffer.from(key, "hex");
  if (/^[A-Za-z0-9+/]{43}=$/.test(key)) return Buffer.from(key, "base64");
  throw new VaultError(
    "invalid-input",
    `${flag}: must be 32 bytes, as base64 or as 64 hexadecimal digits, or a key file`,
    {
      next: [{ ...command`openssl rand -base64 32`, note: "makes a new one" }],
    },
  );
}

/** Where the key of a state comes from. */
export interface KeyPlace {
  /** Description for messages. */
  source: string;
  /** The key file, which needs a backup; null if the key comes from elsewhere. */
  file: string | null;
}

export function keyPlace(source: KeySource): KeyPlace {
  if (source.type === "file") return { source: `key file ${source.path}`, file: source.path };
  return { source: "given by --state-key or VAULTSVC_STATE_KEY", file: null };
}

/** The kind of key to create, or one that exists elsewhere; the user is asked for a passphrase that is not given. */
export type NewKey =
  | { source: "file" | "keyring" }
  | { source: "passphrase"; passphrase?: string }
  | { source: "given"; key: string }
  | KeyElsewhere;

/**
 * Creates a key and its entry for the key file; stores a key of the keyring there.
 * @throws `usage` without a passphrase, `invalid-input` if the given key is not a key
 */
export async function createKey(
  wanted: NewKey,
  access: KeyAccess | undefined,
): Promise<{ key: SealingKey; entry: KeyEntry }> {
  if (wanted.source === "elsewhere") return wanted;
  if (wanted.source === "given") {
    const key = parseGivenKey(wanted.key, "--new-state-key");
    return { key, entry: { source: "given", id: key.id } };
  }
  if (wanted.source === "passphrase") {
    const passphrase = wanted.passphrase ?? (await access?.passphrase(null));
    if (passphrase === undefined)
      throw new VaultError("usage", "a passphrase is missing", {
        hint: "set VAULTSVC_STATE_PASSPHRASE",
      });
    const salt = newSalt();
    const key = await deriveFromPassphrase(passphrase, salt);
    return { key, entry: { source: "passphrase", id: key.id, ...salt } };
  }
  const material = randomBytes(32);
  const key = deriveKey(material);
  if (wanted.source === "file") return { key, entry: { source: "file", id: key.id, material } };
  await (await access?.keyring())?.set(key.id, material.toString("base64"));
  return { key, entry: { source: "keyring", id: key.id } };
}
