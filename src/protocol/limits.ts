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

export const uuidRule =
  "must be 36 characters, hexadecimal and dashes, such as 123e4567-e89b-42d3-a456-426614174000";
export const isUuid = (text: string): boolean => /^[0-9a-fA-F-]{36}$/.test(text);

/** Lengths count Unicode characters (docs/interface.md, Limits). */
export const externalRefRule = "must be 1 to 64 characters, such as order-2291";
export const isExternalRef = (text: string): boolean =>
  text.isWellFormed() && text !== "" && characters(text) <= 64;

/** In a class of a pattern: control characters, line ends, and what nobody sees. */
export const unseen = String.raw`\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\uFFF9-\uFFFB`;

/** Length in Unicode characters, as the interface counts it. */
export const characters = (text: string): number => Array.from(text).length;
