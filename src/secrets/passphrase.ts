import { randomBytes, scrypt } from "node:crypto";
import type { SealingKey } from "./sealing.ts";
import { deriveKey } from "./sealing.ts";

/** Parameters of scrypt. N = 2^log2N; it uses 128·N·r bytes of memory. */
export interface ScryptCost {
  log2N: number;
  r: number;
  p: number;
}

/** 128 MiB and about half a second, once for each command, or each guess of an attacker. */
const cost: ScryptCost = { log2N: 17, r: 8, p: 1 };

/** Derives the key of a passphrase, the same for every equivalent Unicode spelling (NFKC). */
export async function deriveFromPassphrase(
  passphrase: string,
  { cost: { log2N, r, p }, salt }: { cost: ScryptCost; salt: Buffer },
): Promise<SealingKey> {
  const material = await new Promise<Buffer>((resolve, reject) => {
    const options = { N: 2 ** log2N, r, p, maxmem: 256 * 2 ** log2N * r };
    scrypt(passphrase.normalize("NFKC"), salt, 32, options, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
  return deriveKey(material);
}

/** A new salt, with the present cost. */
export const newSalt = (): { cost: ScryptCost; salt: Buffer } => ({ cost, salt: randomBytes(16) });
