import { VaultError } from "../../errors.ts";

/**
 * The same bytes with zeroes behind them, moved and not copied where that can be.
 *
 * @throws `invalid-input` where memory ends.
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
