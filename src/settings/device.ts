import { VaultError } from "../errors.ts";
import type { Device } from "../protocol/fields.ts";
import { device } from "../protocol/fields.ts";
import { parseJson } from "../protocol/json.ts";
import { validate } from "../protocol/validate.ts";
import type { ValueSources } from "../secrets/secret-value.ts";
import { readValue } from "../secrets/secret-value.ts";

/**
 * The device of a setting: JSON, or @FILE.
 * @throws as `parseDevice`
 */
export async function readDevice({ text, source }: { text: string; source: string }, sources: ValueSources): Promise<Device> {
  return parseDevice(await readValue(text, source, sources), source);
}

/**
 * Section 2.2, from JSON.
 * @throws `invalid-input` naming the field, the rule and a right value
 */
export function parseDevice(text: string, source: string): Device {
  const example = 'a right value: {"browserType":"Firefox","browserVersion":"128.0","osType":"Linux","fonts":["Arial"]}';
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw new VaultError("invalid-input", `${source}: not valid JSON`, { hint: example });
  }
  const checked = validate(device, value);
  if (checked.ok) return checked.value;
  const [first] = checked.violations;
  throw new VaultError("invalid-input", `${source}${first?.path ? `.${first.path}` : ""}: ${first?.rule}`, { hint: example });
}
