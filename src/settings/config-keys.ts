import { VaultError } from "../errors.ts";
import { parseDevice } from "../protocol/fields.ts";
import { parseJson } from "../protocol/json.ts";
import type { SettingDefinition, SettingName } from "./definitions.ts";
import { configKeys, definitionOf, settingNames } from "./definitions.ts";
import { parseClaims } from "./jwt.ts";
import { parseSetting, type GivenFlags } from "./settings.ts";
import { command } from "../way.ts";

/** Form of the value of a config key, or of a setting that has none. */
export function formOf(key: string): SettingDefinition["form"] {
  const name = configKeys.get(key) ?? settingNames.find((each) => each === key);
  return name && definitionOf(name).form;
}

/** @throws `usage` for a key that does not exist in profiles, with those that do */
export function checkKey(key: string): SettingName {
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
 * Parses a value as it is stored, with the checks of the corresponding flag. The caller seals a secret.
 * @throws `usage` or `invalid-input`, which names the key and the rule
 */
export function parseConfigValue(
  key: string,
  text: string,
  { profile }: Pick<GivenFlags, "profile"> = {},
): ConfigValue {
  const setting = checkKey(key);
  const source = `config key ${key}`;
  if (text === "")
    throw new VaultError("invalid-input", `${source}: must not be empty`, {
      next: [command`vault config unset ${key}`],
    });
  if (setting === "device") parseDevice(text, source);
  if (setting === "jwtClaims") parseClaims({ text, source });
  parseSetting(setting, { text, source, fromFlag: false, fromProfile: true }, profile);
  return typedValue(key, text);
}

export type ConfigValue = string | number | boolean | Readonly<Record<string, unknown>>;

/** A value as documents have it: a number, a boolean or an object where that is its form. */
export function typedValue(key: string, text: string): ConfigValue {
  const form = formOf(key);
  if (form === "number" && Number.isFinite(Number(text))) return Number(text);
  if (form === "boolean") return !["", "0", "false"].includes(text);
  // A device may also be given as @FILE.
  return form === "json" && text.trimStart().startsWith("{")
    ? (parseJson(text) as Readonly<Record<string, unknown>>)
    : text;
}

/** A value as tables have it. */
export const valueText = (value: ConfigValue): string =>
  typeof value === "object" ? JSON.stringify(value) : String(value);
