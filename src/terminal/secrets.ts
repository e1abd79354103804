import { createHash } from "node:crypto";
import { characters } from "../interface/limits.ts";

/** How a secret is shown in table form: only this file turns one into something for the eye. */

/** `•••• •••• •••• 1111`; whole, in groups of four, with --reveal. */
export function shownCardNumber(number: string, reveal: boolean): string {
  const digits = reveal ? number : "•".repeat(Math.max(0, number.length - 4)) + number.slice(-4);
  return digits.replaceAll(/(.{4})(?=.)/gu, "$1 ");
}

/** Generic contents: their length, or themselves with --reveal. */
export function shownContent(content: string, reveal: boolean): string {
  const length = characters(content);
  return reveal ? content : `•••••••• (${length} character${length === 1 ? "" : "s"})`;
}

/** `sha256:1f0c94d2a3b8`: the same for the same pair, and nothing can be learned from it. */
export function shownPair(pair: { encryptedData: string; payload: string }, reveal: boolean): string {
  if (reveal) return `encryptedData ${pair.encryptedData}\npayload ${pair.payload}`;
  const hash = createHash("sha256").update(JSON.stringify([pair.encryptedData, pair.payload]));
  return `sha256:${hash.digest("hex").slice(0, 12)}`;
}
