import type { Argument, Option } from "commander";
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

/**
 * By the flag, by the command and the argument, then by the word that stands for the value: `--kind <kind>`. A flag whose
 * description speaks of @FILE takes what secrets take. All others take anything.
 */
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

const attached = new WeakMap<Option | Argument, ValueSource>();

/**
 * Says what completion offers for a flag or an argument. Unlike commander's choices this checks nothing: the command's
 * schema does, with messages of its own.
 */
export function withValues<T extends Option | Argument>(target: T, source: ValueSource): T {
  attached.set(target, source);
  return target;
}

/** What can be offered: commander's choices, what `withValues` said, or what the names and the description tell. */
export function valuesOf(target: Option | Argument, command: string): ValueSource {
  const choices = target.argChoices;
  if (choices !== undefined) return { from: "list", values: choices };
  const said = attached.get(target);
  if (said !== undefined) return said;
  const isFlag = "flags" in target;
  const names = isFlag ? [target.long ?? "", placeholder(target.flags)] : [`${command} ${target.name()}`, target.name()];
  const source = names.map((name) => known[name]).find((each) => each !== undefined);
  return source ?? { from: isFlag && target.description.includes("@FILE") ? "given" : "anything" };
}

/** `file` of `--export <file>`; empty for a flag without a value. */
export const placeholder = (flags: string): string => /[<[]([^\]>.]+)/.exec(flags)?.[1] ?? "";
