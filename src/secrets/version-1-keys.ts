import { scrypt } from "node:crypto";
import { VaultError } from "../errors.ts";
import type { KeyOwner } from "./key-file.ts";
import { keyFileOf, notAKeyFile, parseKey, readKeyText, writeKeyFile } from "./key-file.ts";
import type { SealingKey } from "./sealing.ts";
import { deriveKey } from "./sealing.ts";
import { command } from "../way.ts";

/** The key file of version 0.2.0, which had the keys of all states, one a line: `vaultsvc-SOURCE-1 ID …`. It is left as it is. */
interface FormerKeyFile extends KeyOwner {
  path: string;
  /** Folder of the key files of this version. */
  folder: string;
  /** Asks for the passphrase from which a key was derived. */
  passphrase: (id: string) => Promise<string>;
}

/**
 * Copies the key with this id into a file of its own, if that can be written; null if the former file does not have it.
 * @throws `state` for a wrong passphrase, and for a key in the keyring of the operating system, with the command that prints it
 */
export async function copyFormerKey(file: FormerKeyFile, id: string): Promise<SealingKey | null> {
  const { path, folder, warn } = file;
  const lines = readKeyText(path, file)?.split("\n") ?? [];
  const line = lines.find((each) => each.split(" ")[1] === id);
  const source = /^vaultsvc-(\w+)-1 /.exec(line ?? "")?.[1];
  if (line === undefined || source === "given") return null;
  if (source === "keyring") throw inKeyring(id);
  const material = source === "passphrase" ? await derived(file, line, id) : parseKey(line);
  if (material === null || deriveKey(material).id !== id)
    throw notAKeyFile(path, `the line of key ${id} is garbled`);
  try {
    writeKeyFile(keyFileOf(folder, id), material);
    if (source === "passphrase")
      warn(`the key of the passphrase is now in ${keyFileOf(folder, id)}, without one`);
  } catch (error) {
    // The configuration may be read-only: the former file still has the key.
    warn(`key ${id} of ${path} could not be copied: ${(error as Error).message}`);
  }
  return deriveKey(material);
}

/** 32 bytes from a passphrase, by `scrypt:LOG2N:R:P SALT`. */
async function derived(file: FormerKeyFile, line: string, id: string): Promise<Buffer> {
  const [, log2N, r, p, salt = ""] =
    / scrypt:(1[4-9]|20):(\d{1,2}):([1-4]) (\S+)$/.exec(line) ?? [];
  const cost = { N: 2 ** Number(log2N), r: Number(r), p: Number(p) };
  if (salt === "") throw notAKeyFile(file.path, "its passphrase line is garbled");
  const passphrase = (await file.passphrase(id)).normalize("NFKC");
  const material = await new Promise<Buffer>((resolve, reject) => {
    const options = { ...cost, maxmem: 256 * cost.N * cost.r };
    scrypt(passphrase, Buffer.from(salt, "base64"), 32, options, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
  if (deriveKey(material).id === id) return material;
  throw new VaultError("state", `wrong passphrase for key ${id}; nothing was changed`, {
    hint: "set VAULTSVC_STATE_PASSPHRASE, or unset it and enter the passphrase when asked",
  });
}

const inKeyring = (id: string): VaultError =>
  new VaultError("state", `key ${id} is in the keyring of the operating system`, {
    hint: "this version takes it from a command that prints it",
    next: [
      {
        ...command`vault config set stateKeyCommand ${`secret-tool lookup service vaultsvc username ${id}`}`,
        note: "on Linux",
      },
      {
        ...command`vault config set stateKeyCommand ${`security find-generic-password -s vaultsvc -a ${id} -w`}`,
        note: "on macOS",
      },
    ],
  });
