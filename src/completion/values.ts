import type { Argument, Option } from "commander";
import { outputFormats } from "../config/definitions.ts";
import { kinds, operations } from "../interface/endpoints.ts";

/** A word that may stand on a command line, and what it means. */
export interface Candidate {
  value: string;
  description?: string;
}

/** Where the values of a flag or an argument come from. */
export type ValueSource =
  | { from: "list"; values: readonly string[]; separated?: boolean }
  /** Commands, nested ones behind their parents, and other words in the place of the first one. */
  | { from: "commands"; also: readonly Candidate[] }
  /** `given` is what a secret or a document comes from: @FILE, -, env:NAME. */
  | { from: "vaults" | "profiles" | "files" | "directories" | "given" | "anything" };

/** By the flag, then by the word that stands for the value in it: `--kind <kind>`. All others take anything. */
const known: Readonly<Record<string, ValueSource>> = {
  "--profile": { from: "profiles" },
  profile: { from: "profiles" },
  uuid: { from: "vaults" },
  uuids: { from: "vaults" },
  kind: { from: "list", values: kinds },
  operation: { from: "list", values: operations },
  format: { from: "list", values: outputFormats },
  secret: { from: "given" },
  json: { from: "given" },
  file: { from: "files" },
  files: { from: "files" },
  seed: { from: "files" },
  directory: { from: "directories" },
};

const attached = new WeakMap<Option | Argument, ValueSource>();

/**
 * Says what completion offers for a flag or an argument. Unlike commander's choices this checks nothing: the command's
 * schema does, with messages of its own.
 */
export function withValues<T extends Option | Argument>(target: T, source: ValueSource): T {
  attached.set(target, source);
  return target;
}

/** What can be offered: commander's choices, what `withValues` said, or what the names tell. */
export function valuesOf(target: Option | Argument): ValueSource {
  const choices = target.argChoices;
  if (choices !== undefined) return { from: "list", values: choices };
  const names = "flags" in target ? [target.long ?? "", placeholder(target.flags)] : [target.name()];
  return attached.get(target) ?? names.map((name) => known[name]).find((source) => source !== undefined) ?? { from: "anything" };
}

/** `file` of `--export <file>`; empty for a flag without a value. */
export const placeholder = (flags: string): string => /[<[]([^\]>.]+)/.exec(flags)?.[1] ?? "";
