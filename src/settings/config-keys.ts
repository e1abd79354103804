import { defined } from "../defined.ts";
import { VaultError } from "../errors.ts";
import { parseJson } from "../protocol/json.ts";
import { distance } from "../suggest.ts";
import type { SettingDefinition } from "./definitions.ts";
import { configKeys, definitionOf, settingNames } from "./definitions.ts";
import { parseDevice } from "./device.ts";
import type { Profile } from "./config-file.ts";
import { withValue } from "./config-file.ts";
import type { GivenFlags } from "./settings.ts";
import { resolveSettings } from "./settings.ts";
import { command } from "../way.ts";

/** Form of the value of a config key, or of a setting that has none. */
export function formOf(key: string): SettingDefinition["form"] {
  const name = configKeys.get(key) ?? settingNames.find((each) => each === key);
  return name && definitionOf(name).form;
}

/** Config keys whose values are sealed at rest. */
export const secretKeys: readonly string[] = [...configKeys.keys()].filter(
  (key) => formOf(key) === "secret",
);

/** @throws `usage` for a key that does not exist in profiles, with the one that was probably meant */
export function checkKey(key: string): void {
  const known = [...configKeys.keys()];
  if (known.includes(key)) return;
  if (key === "currentProfile") {
    throw new VaultError("usage", "currentProfile is not a setting of a profile", {
      next: [command`vault config use NAME`],
    });
  }
  const meant = known.find((name) => name.startsWith(key)) ?? nearest(key, known);
  throw new VaultError(
    "usage",
    `no such config key: ${key}${meant === undefined ? "" : ` (did you mean ${meant}?)`}`,
    {
      hint: `config keys: ${known.join(", ")}`,
    },
  );
}

/**
 * Parses a value as it is stored, with the checks of the corresponding flag. The caller seals a secret.
 * @throws `usage` or `invalid-input`, which names the key and the rule
 */
export function parseConfigValue(
  key: string,
  text: string,
  profile: Profile,
  flags: Pick<GivenFlags, "profile"> = {},
): unknown {
  checkKey(key);
  const source = `config key ${key}`;
  if (text === "")
    throw new VaultError("invalid-input", `${source}: must not be empty`, {
      next: [command`vault config unset ${key}`],
    });
  const value = stored(key, text, source);
  if (key === "device") parseDevice(text, source);
  if (formOf(key) === "secret") return value;
  resolveSettings(
    defined({ profile: flags.profile }),
    {},
    withValue(profileOf(key, profile), key, value),
  );
  return value;
}

/** The part of the profile that is checked with the key: only its own table. */
const profileOf = (key: string, profile: Profile): Profile => {
  const [table = ""] = key.split(".");
  return key.includes(".") && profile[table] !== undefined ? { [table]: profile[table] } : {};
};

function stored(key: string, text: string, source: string): unknown {
  const form = formOf(key);
  if (form === "number" && text.trim() !== "" && Number.isFinite(Number(text))) return Number(text);
  if (form === "boolean" && ["true", "false"].includes(text)) return text === "true";
  // What it must be is checked with the setting.
  if (form !== "json") return text;
  try {
    const value: unknown = parseJson(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Reported below.
  }
  throw new VaultError("invalid-input", `${source}: must be an object in JSON`, {
    next: [command`vault config set ${key} @FILE`],
  });
}

export type ConfigValue = string | number | boolean | Readonly<Record<string, unknown>>;

/** A value as documents have it: a number, a boolean or an object where that is its form. */
export function typedValue(key: string, text: string): ConfigValue {
  const form = formOf(key);
  if (form === "number" && Number.isFinite(Number(text))) return Number(text);
  if (form === "boolean") return !["", "0", "false"].includes(text);
  // A device may also be given as @FILE.
  return form === "json" && text.startsWith("{")
    ? (parseJson(text) as Readonly<Record<string, unknown>>)
    : text;
}

/** A value as tables have it. */
export const valueText = (value: ConfigValue): string =>
  typeof value === "object" ? JSON.stringify(value) : String(value);

/** The candidate with the smallest edit distance, if it is small. */
function nearest(text: string, candidates: readonly string[]): string | undefined {
  const rated = candidates.map((name) => ({
    name,
    distance: distance(text.toLowerCase(), name.toLowerCase()),
  }));
  const [best] = rated.sort((a, b) => a.distance - b.distance);
  return best !== undefined && best.distance <= Math.max(2, Math.floor(text.length / 3))
    ? best.name
    : undefined;
}
