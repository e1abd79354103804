import type { Device } from "../protocol/fields.ts";
import { device } from "../protocol/fields.ts";
import { parseGivenJson } from "../protocol/json.ts";
import { checkGiven } from "../protocol/validate.ts";
import type { ValueSources } from "./given.ts";
import { readValue } from "./given.ts";

/**
 * Reads the device of a setting: JSON, or @FILE.
 * @throws `invalid-input`, as `readValue` and `parseDevice`
 */
export async function readDevice(
  { text, source }: { text: string; source: string },
  sources: ValueSources,
): Promise<Device> {
  return parseDevice(await readValue(text, source, sources), source);
}

/**
 * Parses a device (docs/interface.md, Device) from JSON.
 * @throws `invalid-input`, which names the field and the rule and shows a valid value
 */
export function parseDevice(text: string, source: string): Device {
  const example =
    'a valid value: {"browserType":"Firefox","browserVersion":"128.0","osType":"Linux","fonts":["Arial"]}';
  return checkGiven(device, parseGivenJson(text, source, example), source, example);
}
