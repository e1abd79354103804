import { randomBytes, scrypt } from "node:crypto";
import type { SealingKey } from "./sealing.ts";
import { deriveKey } from "./sealing.ts";

/** N = 2^log2N; memory is 128·N·r bytes. */
export interface ScryptCost {
  log2N: number;
  r: number;
  p: number;
}

/** 128 MiB and about half a second: what a person waits for once a command, and a guesser once a guess. */
const cost: ScryptCost = { log2N: 17, r: 8, p: 1 };

/** The key of a passphrase, the same in every spelling that Unicode holds to be the same (NFKC). */
export async function stretch(
  passphrase: string,
  { cost: { log2N, r, p }, salt }: { cost: ScryptCost; salt: Buffer },
): Promise<SealingKey> {
  const material = await new Promise<Buffer>((resolve, reject) => {
    const options = { N: 2 ** log2N, r, p, maxmem: 256 * 2 ** log2N * r };
    scrypt(passphrase.normalize("NFKC"), salt, 32, options, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
  return deriveKey(material);
}

/** A new salt with the cost of today. */
export const newSalt = (): { cost: ScryptCost; salt: Buffer } => ({ cost, salt: randomBytes(16) });
