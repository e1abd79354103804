import { configKeys, outputFormats } from "../settings/definitions.ts";
import { kinds, operations } from "../protocol/endpoints.ts";

/** A possible word of a command line, and its meaning. */
export interface Candidate {
  value: string;
  description?: string;
}

/** Source of the values of a flag or an argument. */
export type ValueSource =
  /** `separated`: a comma-separated list. `open`: more must be typed after each value. */
  | { from: "list"; values: readonly string[]; separated?: boolean; open?: boolean }
  /** Commands, nested ones after their parents; `also` has other words for the first position. */
  | { from: "commands"; also: readonly Candidate[] }
  /** `given`: the source of a secret or a document: @FILE, -, env:NAME. */
  | { from: "vaults" | "profiles" | "files" | "directories" | "given" | "anything" };

/** By the flag, by the command and the argument, or by the word that stands for the value: `--kind <kind>`. */
const known: Readonly<Record<string, ValueSource>> = {
  "--profile": { from: "profiles" },
  "use name": { from: "profiles" },
  uuid: { from: "vaults" },
  vault: { from: "vaults" },
  uuids: { from: "vaults" },
  kind: { from: "list", values: kinds },
  operation: { from: "list", values: operations },
  format: { from: "list", values: outputFormats },
  key: { from: "list", values: [...configKeys.keys()] },
  file: { from: "files" },
  files: { from: "files" },
  seed: { from: "files" },
  directory: { from: "directories" },
};

/** What the first of the names that is known here tells. */
export const valuesByName = (names: readonly string[]): ValueSource | undefined =>
  names.map((name) => known[name]).find((each) => each !== undefined);
