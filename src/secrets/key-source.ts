import type { SealingKey } from "./sealing.ts";
import { deriveKey } from "./sealing.ts";
import { VaultError } from "../errors.ts";
import { keyFileOf, parseKey } from "./key-file.ts";
import { command, noted } from "../way.ts";

/** Where the key of a state comes from: what gives it, or else its file. */
export interface KeySource {
  /** Folder of the key files, in the configuration directory. */
  folder: string;
  /** Owner of the files. */
  uid?: number | undefined;
  given?: GivenKey | undefined;
  /** The flag that gives it to a command, if that is not --state-key. */
  flag?: string;
  /** Finds a key that version 0.2.0 has left, and makes its file in the folder; null if there is none. */
  former?: (id: string) => Promise<SealingKey | null>;
}

/** A key from a flag, a variable or a command. */
export interface GivenKey {
  /** Its flag, variable or command, as messages name it. */
  by: string;
  /** @throws `invalid-input` if it is no key */
  read: () => Promise<SealingKey>;
}

/** The source of the key of a backup: `--backup-key`, or that of the state. */
export const ofBackup = (source: KeySource, key: GivenKey | undefined): KeySource => ({
  ...source,
  given: key ?? source.given,
  flag: "--backup-key",
});

/** A key that was given as a text. */
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

/** Where the key of a state comes from. */
export interface KeyPlace {
  /** Description for messages. */
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
