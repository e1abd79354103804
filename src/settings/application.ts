import { VaultError } from "../errors.ts";
import { uuid as identifier } from "../protocol/fields.ts";
import type { Application } from "../protocol/requests.ts";
import { validate } from "../protocol/validate.ts";

/** Section 2.1: both are identifiers. Raises `invalid-input`, never showing the key. */
export function checkApplication(uuid: string, apiKey: string): Application {
  for (const [flag, value] of [
    ["--app-uuid", uuid],
    ["--api-key", apiKey],
  ] as const) {
    const checked = validate(identifier, value);
    if (!checked.ok) throw new VaultError("invalid-input", `${flag}: ${checked.violations[0]?.rule}`, { hint: "nothing was sent" });
  }
  return { apiKey, uuid };
}

/** Section 2.1. Raises `invalid-input` naming `source`, never showing the key. */
export function checkApiKey(apiKey: string, source: string): void {
  const checked = validate(identifier, apiKey);
  if (!checked.ok) throw new VaultError("invalid-input", `${source}: ${checked.violations[0]?.rule}`, { hint: "nothing was changed" });
}
