import type { Device } from "../../protocol/fields.ts";

/**
 * Tolerant matching (service-facts: getting-started/device-fingerprinting): a newer browser version or more fonts
 * still match; another browser or operating system, an older version or a missing font does not.
 */
export function deviceMatches(known: Device, given: Device): boolean {
  return (
    given.browserType === known.browserType &&
    given.osType === known.osType &&
    !isOlder(given.browserVersion, known.browserVersion) &&
    known.fonts.every((font) => given.fonts.includes(font))
  );
}

/** Compares dotted versions number by number; missing parts count as 0. */
function isOlder(version: string, than: string): boolean {
  const [a, b] = [version.split(".").map(Number), than.split(".").map(Number)];
  for (let i = 0; i < Math.max(a.length, b.length); i += 1) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
