import { VaultError } from "../errors.ts";

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

/**
 * Checks a regular expression, and returns it.
 * @throws `invalid-input`, which names `source`, the flag or config key of the value
 */
export function checkPattern(text: string, source: string): string {
  let why = "must be one that does not match every item";
  try {
    if (!new RegExp(text, "i").test("")) return text;
  } catch (error) {
    why = `must be a regular expression (${(error as Error).message})`;
  }
  throw new VaultError("invalid-input", `${source}: ${why}, such as 'denied|bad credentials'`);
}

/**
 * Parses the base URL of the service. It has no place for secrets, which would be printed with it.
 * @throws `invalid-input`, which names `source` and shows nothing of the value
 */
export function parseBaseUrl(text: string, source: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const { protocol = "", username, password, search, hash } = url ?? {};
  if (url !== undefined && /^https?:$/.test(protocol) && !(username || password || search || hash))
    return url;
  throw new VaultError(
    "invalid-input",
    `${source}: must be a URL, such as https://vaults.example.com, without user, password, query or fragment`,
  );
}
