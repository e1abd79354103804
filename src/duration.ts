import { VaultError } from "./errors.ts";

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/**
 * Parses `500ms`, `30s`, `2m` or `1h` as milliseconds, of which it must have at least so many.
 * @throws `invalid-input`, which names `source`, the flag, variable or config key of the value
 */
export function parseDuration(text: string, source: string, least = 0): number {
  const [, amount = "", unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text.trim()) ?? [];
  const milliseconds = Math.round(Number(amount) * units[unit as keyof typeof units]);
  if (milliseconds >= least) return milliseconds;
  const bound = least === 0 ? "" : ` of at least ${least}ms`;
  throw new VaultError(
    "invalid-input",
    `${source}: must be a duration${bound}, such as 500ms, 30s, 2m or 1h`,
  );
}

/** Formats milliseconds as a setting has them: `500ms`, `30s`, `1.5s`. */
export const formatDuration = (milliseconds: number): string =>
  milliseconds < 1000 ? `${Math.round(milliseconds)}ms` : `${Math.round(milliseconds / 100) / 10}s`;
