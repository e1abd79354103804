import { VaultError } from "../errors.ts";

/**
 * A regular expression as it was given, checked.
 * @throws `invalid-input` naming `source`, the flag or config key it came from
 */
export function checkPattern(text: string, source: string): string {
  try {
    if (!new RegExp(text, "i").test("")) return text;
  } catch (error) {
    throw new VaultError("invalid-input", `${source}: must be a regular expression (${(error as Error).message})`, {
      hint: `${source} 'denied|bad credentials'`,
    });
  }
  // It would make a failure of every item.
  throw new VaultError("invalid-input", `${source}: must not match an empty text`, { hint: `${source} 'denied|bad credentials'` });
}
