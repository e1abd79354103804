import type { Rules } from "../../documents/audit.ts";
import { VaultError } from "../../errors.ts";

/** The latest release in section 9. */
export const newestRelease = "1.2.28";

/** Whether a release is older than another; both are X.Y.Z. */
export function beforeRelease(release: string, other: string): boolean {
  const [a, b] = [release, other].map((text) => text.split(".").map(Number)) as [
    number[],
    number[],
  ];
  const at = b.findIndex((part, index) => part !== a[index]);
  return at >= 0 && (a[at] ?? 0) < (b[at] as number);
}

/** Limits other than those of the rules. */
export interface WhatIf {
  text: string;
  limits: Partial<Rules["limits"]>;
}

export const whatIfForms = ["lock-after-failed=N", "lock-after-unacked=N"] as const;

/**
 * Parses one change, in the grammar of `whatIfForms`.
 *
 * @throws `invalid-input` with the grammar.
 */
export function parseWhatIf(given: string): WhatIf {
  const text = given.trim();
  const [, name, value = ""] = /^lock-after-(failed|unacked)=(.*)$/s.exec(text) ?? [];
  if (name === undefined) throw wrong("is not a known change");
  if (!/^[1-9]\d{0,8}$/.test(value))
    throw wrong(`lock-after-${name}= needs a whole number of at least 1`);
  return {
    text,
    limits: { [name === "failed" ? "failedAttempts" : "unackedStarts"]: Number(value) },
  };
}

/** Whether a text is a release `X.Y.Z` (section 9). */
export const isRelease = (text: string): boolean => /^\d{1,4}\.\d{1,4}\.\d{1,4}$/.test(text);

const wrong = (rule: string): VaultError =>
  new VaultError("invalid-input", `--what-if: ${rule}`, {
    hint: `one change: ${whatIfForms.join(", ")}; like --what-if lock-after-failed=5`,
  });
