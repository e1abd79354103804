/** The figures of the interface (specification, sections 2 and 8). Lengths count Unicode characters. */
export const limits = {
  externalRef: { min: 1, max: 64 },
  deviceTextMin: 2,
  fontsMin: 1,
  cardNameMax: 30,
  cardNumber: { min: 8, max: 19 },
  usesRemainingMin: 1,
  uuidLength: 36,
  /** Extended (service-facts: metadata): pairs, and characters of a key and of a value. */
  metadata: { pairs: 50, key: { min: 1, max: 32 }, value: { min: 0, max: 255 } },
} as const;

/**
 * What the specification leaves open, as public documentation of a service with this interface fills it
 * (service-facts: FAQ and reference/rate-limit). Defaults only: flags and profiles overrule them.
 */
export const defaults = {
  apiPrefix: "/vaultsvc/v1-2",
  /** Requests per second per application (specification, section 8). */
  rate: 25,
  /** Consecutive failed accesses that lock a vault. */
  lockAfterFailed: 3,
  /** Consecutive starts without an acknowledgement that lock a vault. */
  lockAfterUnacked: 5,
  /** Milliseconds from a start that was accepted to the autoLockDate. */
  autoLockAfterMs: 365 * 24 * 60 * 60_000,
  /** Milliseconds. Not documented: a guess. */
  tokenLifetimeMs: 5 * 60_000,
} as const;

/** Length in Unicode characters, as the interface counts it. */
export function characters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
