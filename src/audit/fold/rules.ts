import type { Rules } from "../../documents/audit.ts";
import { VaultError } from "../../errors.ts";
import { instant } from "../../protocol/fields.ts";

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

/** A hypothetical change to the log or the rules. */
export type WhatIf = { text: string } & (
  | /** Acknowledges the open exchange at `at`, in milliseconds since the epoch. */ {
      type: "ack";
      at: number;
    }
  | /** Removes the items from `from` up to `to`, exclusive, in milliseconds since the epoch. */ {
      type: "without";
      from: number;
      to: number;
    }
  | { type: "rules"; rules: ChangedRules }
);

type ChangedRules = Partial<Omit<Rules, "limits">> & { limits?: Partial<Rules["limits"]> };

/** The rules with a hypothetical change. */
export const withChanges = (rules: Rules, changed: ChangedRules): Rules => ({
  ...rules,
  ...changed,
  limits: { ...rules.limits, ...changed.limits },
});

export const whatIfForms = [
  "ack@TIME",
  "without@TIME",
  "lock-after-failed=N",
  "lock-after-unacked=N",
  "token-lifetime=DURATION",
  "release=X.Y.Z",
] as const;

/**
 * Parses one change, in the grammar of `whatIfForms`. A time without a fraction stands for the whole second, one without seconds for the
 * whole minute.
 *
 * @throws `invalid-input` with the grammar, and what `duration` throws.
 */
export function parseWhatIf(given: string, duration: (text: string) => number): WhatIf {
  const text = given.trim();
  const [, verb = "", time = ""] = /^(ack|without)@(.*)$/s.exec(text) ?? [];
  if (verb !== "") {
    const at = instant(time);
    if (at === null)
      throw wrong(`${verb}@ needs a time in ISO 8601, like ${verb}@2026-11-20T14:02:11Z`);
    return verb === "ack"
      ? { text, type: "ack", at }
      : { text, type: "without", from: at, to: at + precision(time) };
  }
  const [, name = "", value = ""] = /^([a-z-]+)=(.*)$/s.exec(text) ?? [];
  return { text, type: "rules", rules: changedRules(name, value, duration) };
}

function changedRules(
  name: string,
  value: string,
  duration: (text: string) => number,
): ChangedRules {
  switch (name) {
    case "lock-after-failed":
      return { limits: { failedAttempts: count(name, value) } };
    case "lock-after-unacked":
      return { limits: { unackedStarts: count(name, value) } };
    case "token-lifetime":
      return { tokenLifetimeMs: duration(value) };
    case "release":
      if (!isRelease(value)) throw wrong("release= needs a release, like release=1.2.22");
      return { release: value };
    default:
      throw wrong("is not a known change");
  }
}

function count(name: string, value: string): number {
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw wrong(`${name}= needs a whole number of at least 1, like ${name}=5`);
}

/** Whether a text is a release `X.Y.Z` (section 9). */
export const isRelease = (text: string): boolean => /^\d{1,4}\.\d{1,4}\.\d{1,4}$/.test(text);

/** Returns the precision of a time in milliseconds. */
function precision(time: string): number {
  const [, seconds, fraction = ""] = /T\d\d:\d\d(:\d\d)?(?:[.,](\d+))?/.exec(time) ?? [];
  return seconds === undefined ? 60_000 : Math.max(1, 1000 / 10 ** fraction.length);
}

const wrong = (rule: string): VaultError =>
  new VaultError("invalid-input", `--what-if: ${rule}`, {
    hint: `one change: ${whatIfForms.join(", ")}; like --what-if 'ack@2026-11-20T14:02:11Z'`,
  });
