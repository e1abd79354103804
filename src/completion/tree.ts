import type { ValueSource } from "./values.ts";

/** A command as data: what `vault help --json` prints, completion offers and the README's reference lists. */
export interface CommandNode {
  name: string;
  summary: string;
  description: string;
  arguments: ArgumentNode[];
  options: OptionNode[];
  commands: CommandNode[];
  examples: readonly string[];
}

export interface ArgumentNode {
  name: string;
  required: boolean;
  variadic: boolean;
  description: string;
  values: ValueSource;
}

export interface OptionNode {
  /** As declared: `-o, --output <format>`. */
  flags: string;
  short?: string;
  long: string;
  description: string;
  /** Null for a flag without a value. */
  value: { name: string; required: boolean; variadic: boolean; values: ValueSource } | null;
}
