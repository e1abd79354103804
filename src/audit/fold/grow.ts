import { VaultError } from "../../errors.ts";

/**
 * Returns a larger buffer with the same bytes, moved rather than copied if possible, and zeroes after them.
 *
 * @throws `invalid-input` if there is not enough memory.
 */
export function grown({ buffer }: { buffer: ArrayBuffer }, bytes: number): ArrayBuffer {
  try {
    return buffer.transfer(bytes);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw noMemory(cause);
  }
}

export function noMemory(cause?: unknown): VaultError {
  const hint = "give it the items of fewer vaults, or name one: --vault UUID";
  return new VaultError("invalid-input", "these items have more vaults than there is memory for", { hint, cause });
}
