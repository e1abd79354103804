import { VaultError } from "../errors.ts";

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
