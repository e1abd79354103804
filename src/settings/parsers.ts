import { VaultError } from "../errors.ts";

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/**
 * Parses `500ms`, `30s`, `2m` or `1h` as milliseconds.
 * @throws `invalid-input`, which names `source`, the flag, variable or config key of the value
 */
export function parseDuration(text: string, source: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text.trim());
  if (match === null) {
    throw new VaultError(
      "invalid-input",
      `${source}: must be a duration, such as 500ms, 30s, 2m or 1h`,
      {
        hint: `for example ${source} 30s`,
      },
    );
  }
  const [, amount = "", unit = ""] = match;
  return Math.round(Number(amount) * units[unit as keyof typeof units]);
}

/**
 * Checks a regular expression, and returns it.
 * @throws `invalid-input`, which names `source`, the flag or config key of the value
 */
export function checkPattern(text: string, source: string): string {
  try {
    if (!new RegExp(text, "i").test("")) return text;
  } catch (error) {
    throw new VaultError(
      "invalid-input",
      `${source}: must be a regular expression (${(error as Error).message})`,
      {
        hint: `for example ${source} 'denied|bad credentials'`,
      },
    );
  }
  // It would match every item.
  throw new VaultError("invalid-input", `${source}: must not match an empty text`, {
    hint: `for example ${source} 'denied|bad credentials'`,
  });
}
