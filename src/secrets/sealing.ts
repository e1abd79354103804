import type { KeyObject } from "node:crypto";
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  randomBytes,
} from "node:crypto";
import { VaultError } from "../errors.ts";
import { command } from "../way.ts";

/** An encryption key, with the public id that every sealed value carries. */
export interface SealingKey {
  /** 16 hexadecimal digits, which reveal nothing about the key. */
  id: string;
  secret: KeyObject;
}

/** The place to which a sealed value is bound. A value that was moved to another place does not open. */
type SealedPlace = VaultPlace | ProfilePlace;

export interface VaultPlace {
  /** The id of a state that several machines share. */
  state?: string | undefined;
  service: string;
  uuid: string;
  column:
    | "credentials.sealed"
    | "exchanges.token"
    | "exchanges.digest"
    | "vaults.label"
    | "outbox.document";
  /** The generation, or the exchange id; else empty. */
  row: string;
}

export interface ProfilePlace {
  profile: string;
  /** The config key, like `apiKey`. */
  key: string;
}

/** Version of the format `s1:KEY-ID:BASE64`, whose last part is nonce, ciphertext and tag. */
const format = "s1";
const nonceBytes = 12;
const tagBytes = 16;

/** Derives the encryption key and its id from 32 bytes, which are used for nothing else. */
export function deriveKey(material: Uint8Array): SealingKey {
  const derive = (label: string): Buffer =>
    Buffer.from(hkdfSync("sha256", material, "", label, 32));
  return {
    id: derive("vaultsvc key id 1").toString("hex", 0, 8),
    secret: createSecretKey(derive("vaultsvc sealing 1")),
  };
}

export function seal(key: SealingKey, place: SealedPlace, text: string): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", key.secret, nonce, { authTagLength: tagBytes });
  cipher.setAAD(additionalData(key, place));
  const sealed = Buffer.concat([
    nonce,
    cipher.update(text, "utf8"),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  return `${format}:${key.id}:${sealed.toString("base64")}`;
}

/**
 * Opens a sealed value; `key` is null if a state names none.
 * @throws `state` if the value was sealed with another key or for another place, or was changed
 */
export function unseal(key: SealingKey | null, place: SealedPlace, sealed: string): string {
  const [version, keyId, body = ""] = sealed.split(":");
  if (version !== format) throw cannotBeOpened(place, `its format is not ${format}`);
  if (key === null || keyId !== key.id) {
    const own = key === null ? "there is none in use" : `the key in use is ${key.id}`;
    throw cannotBeOpened(place, `it is encrypted with key ${keyId ?? ""}, and ${own}`);
  }
  const bytes = Buffer.from(body, "base64");
  const whole = bytes.length >= nonceBytes + tagBytes && bytes.toString("base64") === body;
  if (!whole) throw cannotBeOpened(place, "it is truncated or garbled");
  const decipher = createDecipheriv("aes-256-gcm", key.secret, bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(additionalData(key, place));
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  try {
    return Buffer.concat([
      decipher.update(bytes.subarray(nonceBytes, -tagBytes)),
      decipher.final(),
    ]).toString("utf8");
  } catch {
    throw cannotBeOpened(place, "it was changed, or copied from another place");
  }
}

export const keyIdOf = (sealed: string): string => sealed.split(":")[1] ?? "";

export const isSealed = (text: string): boolean => /^s1:[0-9a-f]{16}:/.test(text);

function additionalData(key: SealingKey, place: SealedPlace): Buffer {
  const parts =
    "profile" in place
      ? ["profile", place.profile, place.key]
      : [place.service, place.uuid, place.column, place.row];
  if ("state" in place && place.state !== undefined) parts.unshift(place.state);
  return Buffer.from(JSON.stringify(["vaultsvc", format, key.id, ...parts]));
}

export function cannotBeOpened(place: SealedPlace, why: string): VaultError {
  if ("profile" in place) {
    const { profile, key } = place;
    const message = `the config key ${key} of profile ${profile} cannot be decrypted: ${why}`;
    const setting = command`vault config set ${key} @FILE --profile ${profile}`;
    return new VaultError("state", message, {
      hint: "set the secret again; or, if its key is missing, put the key file back from its backup; the state is not affected",
      next: [{ ...setting, note: "sets it again" }],
    });
  }
  const { uuid, column, row } = place;
  const what = `an encrypted value of vault ${uuid} cannot be decrypted (${column} ${row})`;
  return new VaultError("state", `${what}: ${why}`, {
    uuid,
    next: [command`vault state restore FILE`],
  });
}
