import { attempt } from "../attempt.ts";
import { VaultError } from "../errors.ts";
import { parseDevice, uuid } from "../protocol/fields.ts";
import { isObject, parseJson } from "../protocol/json.ts";
import { checkGiven } from "../protocol/validate.ts";
import { configKeys, definitionOf, type SettingName } from "./definitions.ts";
import type { Sourced } from "./given.ts";
import { parseClaims } from "./jwt.ts";
import { parseSetting, type GivenFlags } from "./settings.ts";
import { command } from "../way.ts";

/** @throws `usage` for a key that does not exist in profiles, with those that do */
export function settingOf(key: string): SettingName {
  const setting = configKeys.get(key);
  if (setting !== undefined) return setting;
  if (key === "currentProfile") {
    throw new VaultError("usage", "currentProfile is not a setting of a profile", {
      next: [command`vault config use NAME`],
    });
  }
  throw new VaultError("usage", `no such config key: ${key}`, {
    hint: `config keys: ${[...configKeys.keys()].join(", ")}`,
  });
}

/**
 * Parses a value as a profile stores it, with the checks of the corresponding flag. The caller seals a secret.
 * @throws `usage` or `invalid-input`, which names the source and the rule
 */
export function parseConfigValue(
  setting: SettingName,
  { text, source }: Pick<Sourced, "text" | "source">,
  profile?: GivenFlags["profile"],
): ConfigValue {
  if (text === "")
    throw new VaultError("invalid-input", `${source}: must not be empty`, {
      next: [command`vault config unset ${definitionOf(setting).key ?? setting}`],
    });
  if (setting === "device") parseDevice(text, source);
  if (setting === "jwtClaims") parseClaims({ text, source });
  if (setting === "apiKey") checkGiven(uuid, text, source, "nothing was changed");
  parseSetting(setting, { text, source, from: "profile" }, profile);
  return typedValue(setting, text);
}

export type ConfigValue = string | number | boolean | Readonly<Record<string, unknown>>;

/** A value as documents have it: a number, a boolean or an object if that is its form. */
export function typedValue(setting: SettingName, text: string): ConfigValue {
  const { form } = definitionOf(setting);
  if (form === "number" && Number.isFinite(Number(text))) return Number(text);
  if (form === "boolean") return !["", "0", "false"].includes(text);
  // A device may also be given as @FILE; and what is wrong is shown as it stands.
  const object = form === "json" ? attempt(() => parseJson(text)) : undefined;
  return isObject(object) ? object : text;
}

/** A value as tables have it. */
export const valueText = (value: ConfigValue): string =>
  typeof value === "object" ? JSON.stringify(value) : String(value);
