import type { Command as CommanderCommand } from "commander";
import type { App } from "../app.ts";
import type { ValueSource } from "../completion/values.ts";
import type { OptionTypes } from "./option-types.ts";

/** The values that are accepted and offered by completion. Default: any text that is not empty. */
interface ValueSpec {
  is?: keyof OptionTypes;
  oneOf?: readonly string[];
  /** Separated by commas. */
  listOf?: readonly string[];
  /** What completion offers, where the names do not tell. */
  values?: ValueSource;
}

export interface OptionSpec extends ValueSpec {
  /** As commander takes it: `--kind <kind>`. */
  flag: string;
  help: string;
  /** Takes one value each time it is given, not all words that follow: for `<value...>`. */
  repeated?: true;
}

export interface ArgumentSpec extends ValueSpec {
  /** `<uuid>`, `[uuid]`, `[files...]`. */
  term: string;
  /** Words that commander checks and lists in the help, for a command with `print`. */
  choices?: readonly string[];
  help: string;
}

/** The argument of a command that is about a vault; its value is the UUID by the time the command is run. */
export const vaultArgument = {
  term: "[vault]",
  help: "UUID, label, or (on a terminal) first digits of the UUID",
  is: "vault",
} as const;

/** The argument of a command that takes one vault or many. */
export const vaultsArgument = { ...vaultArgument, term: "[vault...]" } as const;

/**
 * A command as data. Parser, help, completion, reference and the type of its options come from it. Every command line loads it, so
 * it imports next to nothing.
 */
export interface Descriptor {
  name: string;
  summary: string;
  /** Default: the summary as a sentence. */
  description?: string;
  /** In their order; names are those of the checked options. */
  arguments?: Readonly<Record<string, ArgumentSpec>>;
  /** By the name that commander gives: externalRef for --external-ref, ack for --no-ack. */
  options?: Readonly<Record<string, OptionSpec>>;
  /** Each works when pasted against the sandbox. */
  examples: readonly string[];
  /** What --field may begin with; without it the command checks that itself. */
  fields?:
    | readonly string[]
    | ((options: Readonly<Record<string, unknown>>) => readonly string[] | undefined);
  /** Runs even if the configuration cannot be used: with the defaults, or to fix it. `App.configuration` holds the problem. */
  mode?: "lenient" | "fixes-configuration";
}

/** A command line as commander read it: nothing is checked yet. */
export interface RawInput {
  args: readonly (string | readonly string[] | undefined)[];
  options: Readonly<Record<string, unknown>>;
}

export interface Command extends Descriptor {
  /** As `command` has joined it: its options fit the descriptor. */
  run?: (app: App, options: never) => Promise<number>;
  /** In place of `run`, for what needs neither settings nor state: the text for stdout. */
  print?: (
    input: RawInput,
    format: "table" | "json" | "ndjson",
    program: WholeProgram,
  ) => Promise<string>;
  commands?: readonly Command[];
}

/** All commands, as data and as commander has them. */
export interface WholeProgram {
  root: Command;
  build: () => CommanderCommand;
}

export const descriptionOf = ({
  summary,
  description = `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
}: Descriptor): string => description;

/** What a command does with its checked options; resolves to the exit code. It loads what it needs: help and completion do not. */
export type Run<D extends Descriptor> = (app: App, options: OptionsOf<D>) => Promise<number>;

/** Joins a descriptor and what runs it. */
export const command = <const D extends Descriptor>(
  descriptor: D,
  run: NoInfer<Run<D>>,
): Command => ({ ...descriptor, run });

/** The options of a command line, checked: those that were not given are absent. */
export type OptionsOf<D extends Descriptor> = OptionValues<D["options"]> &
  ArgumentValues<D["arguments"]>;

export type OptionValues<S> = { [Name in keyof S]?: OptionValue<S[Name]> | undefined };

type ArgumentValues<S> = {
  [Name in keyof S as IsRequired<S[Name]> extends true ? Name : never]: ArgumentValue<S[Name]>;
} & {
  [Name in keyof S as IsRequired<S[Name]> extends true ? never : Name]?:
    ArgumentValue<S[Name]> | undefined;
};

type IsRequired<S> = S extends { term: `<${string}` | `${string}...${string}` } ? true : false;
type ArgumentValue<S> = S extends { term: `${string}...${string}` } ? ValueOf<S>[] : ValueOf<S>;
type OptionValue<S> = S extends { flag: `${string}...>` }
  ? ValueOf<S>[]
  : S extends { flag: `${string}<${string}` }
    ? ValueOf<S>
    : boolean;

type ValueOf<S> = S extends { is: infer Name extends keyof OptionTypes }
  ? OptionTypes[Name]
  : S extends { oneOf: readonly (infer Word)[] }
    ? Word
    : S extends { listOf: readonly (infer Word)[] }
      ? Word[]
      : string;
