import { withoutPassword } from "../protocol/address.ts";
import { characters } from "../protocol/limits.ts";
import { count } from "./count.ts";

// Secrets as tables show them: no other file formats one for display.

/**
 * Formats a card number in groups of four: `•••• •••• •••• 1111`, or whole with --reveal. A masked number has the short group first, so
 * that the last four digits stay together.
 */
export function shownCardNumber(number: string, reveal: boolean): string {
  const digits = reveal ? number : "•".repeat(Math.max(0, number.length - 4)) + number.slice(-4);
  const head = reveal ? 0 : digits.length % 4;
  return `${digits.slice(0, head)} ${digits.slice(head).replaceAll(/.{4}(?=.)/gs, "$& ")}`.trim();
}

export const shownContent = (content: string): string =>
  `•••••••• (${count(characters(content), "character")})`;

/** Formats a fingerprint for documents: `sha256:` and its 64 digits, which name credentials without revealing them. */
export const namedFingerprint = (digits: string): string => `sha256:${digits}`;

/** Formats the fingerprint of a document for tables: `sha256:1f0c94d2a3b8`. */
export const shownFingerprint = (fingerprint: string): string =>
  fingerprint.slice(0, "sha256:".length + 12);

/**
 * Formats a setting: a secret by its source (`@FILE`, `env:NAME`, `-`) or the key that seals it, the address of a database without
 * its password, any other URL without user and password; one that cannot be used, too.
 */
export function shownSetting(value: string, isSecret: boolean): string {
  if (!isSecret)
    return withoutPassword(value)
      .replace(/^(https?:\/\/).*@|^[^\s/{:]*:(?!\/\/)\S*@/is, "$1••••@")
      .replaceAll(/\b(password=)[^\s&]+/gi, "$1••••");
  const [, key] = /^s1:([0-9a-f]{16}):/.exec(value) ?? [];
  if (key !== undefined) return `•••••••• (encrypted with key ${key})`;
  return /^(@|env:|-$)/.test(value) ? value : "••••••••";
}
