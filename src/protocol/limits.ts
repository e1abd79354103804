/** Limits of the interface (docs/interface.md, Limits). Lengths count Unicode characters. */
export const limits = {
  externalRef: { min: 1, max: 64 },
  deviceTextMin: 2,
  fontsMin: 1,
  cardNameMax: 30,
  cardNumber: { min: 8, max: 19 },
  usesRemainingMin: 1,
  uuidLength: 36,
  /** Number of pairs, lengths of a key and of a value (docs/interface.md, Metadata). */
  metadata: { pairs: 50, key: { min: 1, max: 32 }, value: { min: 0, max: 255 } },
} as const;

/**
 * Defaults for what the documented interface leaves open (docs/interface.md, Lockout). Flags and profiles take precedence.
 */
export const defaults = {
  apiPrefix: "/vaultsvc/v1-2",
  /** Requests per second per application (docs/interface.md, Limits). */
  rate: 25,
  /** Consecutive failed attempts that lock a vault. */
  failedAttempts: 3,
  /** Consecutive unacknowledged starts that lock a vault. */
  unackedStarts: 5,
  /** Milliseconds from an accepted start to the autoLockDate. */
  autoLockAfterMs: 365 * 24 * 60 * 60_000,
  /** Milliseconds. An assumption, since it is not documented. */
  tokenLifetimeMs: 5 * 60_000,
} as const;

export const uuidRule = `must be ${limits.uuidLength} characters, hexadecimal and dashes, such as 123e4567-e89b-42d3-a456-426614174000`;
export const isUuid = (text: string): boolean => /^[0-9a-fA-F-]{36}$/.test(text);

export const externalRefRule = `must be ${limits.externalRef.min} to ${limits.externalRef.max} characters, such as order-2291`;
export const isExternalRef = (text: string): boolean =>
  text.isWellFormed() &&
  characters(text) >= limits.externalRef.min &&
  characters(text) <= limits.externalRef.max;

/** Length in Unicode characters, as the interface counts it. */
export function characters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
