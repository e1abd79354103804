import { characters } from "../protocol/limits.ts";
import { count } from "./count.ts";

/** How a secret is shown in table form: only this file turns one into something for the eye. */

/**
 * `•••• •••• •••• 1111`, whole with --reveal: in groups as they stand on the card, four digits or the 4, 6 and 5 of American
 * Express. Of another length the first group is the short one where digits are masked, so that the last four stand together.
 */
export function shownCardNumber(number: string, reveal: boolean): string {
  const digits = reveal ? number : "•".repeat(Math.max(0, number.length - 4)) + number.slice(-4);
  if (/^3[47]\d{13}$/.test(number)) return `${digits.slice(0, 4)} ${digits.slice(4, 10)} ${digits.slice(10)}`;
  const head = reveal ? 0 : digits.length % 4;
  return [digits.slice(0, head), ...(digits.slice(head).match(/.{1,4}/gsu) ?? [])].filter((group) => group !== "").join(" ");
}

/** Generic contents: their length. */
export function shownContent(content: string): string {
  const length = characters(content);
  return `•••••••• (${count(length, "character")})`;
}

/** `sha256:1f0c94d2a3b8`: names a pair, and nothing can be learned from it. */
export const shownFingerprint = (fingerprint: string): string => `sha256:${fingerprint.slice(0, 12)}`;

/**
 * The value of a setting: a secret only by the place that it is read from (`@FILE`, `env:NAME`, `-`) or the key that it is
 * sealed with, and a URL without its password.
 */
export function shownSetting(value: string, isSecret: boolean): string {
  if (!isSecret) return value.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, "$1••••@");
  const [, key] = /^s1:([0-9a-f]{16}):/.exec(value) ?? [];
  if (key !== undefined) return `•••••••• (sealed with key ${key})`;
  return /^(@|env:|-$)/.test(value) ? value : "••••••••";
}
