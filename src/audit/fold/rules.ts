import type { Rules } from "../../documents/audit.ts";

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

/** Whether a text is a release `X.Y.Z` (section 9). */
export const isRelease = (text: string): boolean => /^\d{1,4}\.\d{1,4}\.\d{1,4}$/.test(text);
