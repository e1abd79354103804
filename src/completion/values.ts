import type { SettingDefinition } from "../settings/definitions.ts";
import { outputFormats, settingDefinitions } from "../settings/definitions.ts";
import { kinds, operations } from "../protocol/endpoints.ts";

/** A word that may stand on a command line, and what it means. */
export interface Candidate {
  value: string;
  description?: string;
}

/** Where the values of a flag or an argument come from. */
export type ValueSource =
  /** `separated` by commas; `open` where more is to be typed behind each. */
  | { from: "list"; values: readonly string[]; separated?: boolean; open?: boolean }
  /** Commands, nested ones behind their parents, and other words in the place of the first one. */
  | { from: "commands"; also: readonly Candidate[] }
  /** `given` is what a secret or a document comes from: @FILE, -, env:NAME. */
  | { from: "vaults" | "profiles" | "files" | "directories" | "given" | "anything" };

/** By the flag, by the command and the argument, or by the word that stands for the value: `--kind <kind>`. */
const known: Readonly<Record<string, ValueSource>> = {
  "--profile": { from: "profiles" },
  "use name": { from: "profiles" },
  uuid: { from: "vaults" },
  uuids: { from: "vaults" },
  kind: { from: "list", values: kinds },
  operation: { from: "list", values: operations },
  format: { from: "list", values: outputFormats },
  key: { from: "list", values: configKeys() },
  file: { from: "files" },
  files: { from: "files" },
  seed: { from: "files" },
  directory: { from: "directories" },
};

/** Keys of a profile; which profile is the current one is chosen by a command of its own. */
function configKeys(): string[] {
  const keys = Object.values<SettingDefinition>(settingDefinitions).flatMap(({ key }) => key ?? []);
  return keys.filter((key) => key !== settingDefinitions.profile.key);
}

/** What the first of the names that is known here tells. */
export const valuesByName = (names: readonly string[]): ValueSource | undefined =>
  names.map((name) => known[name]).find((each) => each !== undefined);
