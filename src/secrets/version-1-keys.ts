import { VaultError } from "../errors.ts";
import type { KeyOwner } from "./keys.ts";
import { keyFileOf, notAKeyFile, parseKey, readKeyText, writeKeyFile } from "./keys.ts";
import type { SealingKey } from "./sealing.ts";
import { deriveKey } from "./sealing.ts";
import { command, noted } from "../way.ts";

/** The key file of version 0.2.0, which had the keys of all states, one a line: `vaultsvc-SOURCE-1 ID …`. It is left as it is. */
interface FormerKeyFile extends KeyOwner {
  path: string;
  /** Folder of the key files of this version. */
  folder: string;
}

/**
 * Copies the key with this id into a file of its own, if that can be written; null if the former file does not have it.
 * @throws `state` for a key that is in the keyring of the operating system or comes from a passphrase, with a command that prints it
 */
export function copyFormerKey(file: FormerKeyFile, id: string): SealingKey | null {
  const { path, folder, warn } = file;
  const lines = readKeyText(path, file)?.split("\n") ?? [];
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
