import type { Command as CommanderCommand } from "commander";
import type * as z from "zod/mini";
import type { App } from "../app.ts";
import type { ValueSource } from "../completion/tree.ts";
import type { OptionTypes } from "./option-types.ts";
import type { SettingDefinition } from "../settings/definitions.ts";
import { settingDefinitions } from "../settings/definitions.ts";

/** Builds the schema of a value, only where a command line of its command is checked: help and completion load no zod. */
type Value = (is: OptionTypes) => z.ZodMiniType;

/** Any text that is not empty. */
export const text = (is: OptionTypes) => is.text;

interface ValueSpec {
  /** What completion offers, where the names do not tell. */
  values?: ValueSource;
  help: string;
}

export interface OptionSpec extends ValueSpec {
  /** As commander takes it: `--kind <kind>`. */
  flag: string;
  /** Absent for a flag without a value. An error message continues the name of the flag. */
  value?: Value;
  /** Takes one value each time it is given, not all words that follow: for `<value...>`. */
  repeated?: true;
  /** Names of the options of the same command that cannot be given with it. */
  conflicts?: readonly string[];
}

export interface ArgumentSpec extends ValueSpec {
  /** `<uuid>`, `[uuid]`, `[files...]`. */
  term: string;
  /** Absent for a command with `print`, which gets what commander has read. */
  value?: Value;
  /** It names a vault: `vaultNamed` turns it into the UUID before the command is run. */
  isVault?: true;
  /** Words that commander checks and lists in the help, for a command with `print`. */
  choices?: readonly string[];
}

/** The argument of a command that is about a vault. */
export const vaultArgument = {
  term: "[vault]",
  help: "UUID, label, or (on a terminal) first digits of the UUID",
  value: (is) => is.optional(is.text),
  values: { from: "vaults", byLabel: true },
  isVault: true,
} as const satisfies ArgumentSpec;

/** The argument of a command that takes one vault or many. */
export const vaultsArgument = {
  ...vaultArgument,
  term: "[vault...]",
  value: (is) => is.many(is.text),
} as const satisfies ArgumentSpec;

/**
 * A command as data. Parser, help, completion, reference and the type of its options come from it. Every command line loads it, so
 * it imports no more than the table of settings.
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
  /** Runs even if the configuration cannot be used: with the defaults, or to fix it. `configuration` of the settings holds the problem. */
  mode?: "lenient" | "fixes-configuration";
  /** It needs the settings of the service: where they are missing, an unknown label is not the first thing to say. */
  callsService?: true;
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
  /** What `print` returns for a person is shown by the pager where it is longer than the screen. */
  isShown?: true;
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

export type OptionValues<S> = {
  [Name in keyof S]?: (S[Name] extends WithValue ? ValueOf<S[Name]> : boolean) | undefined;
};

type ArgumentValues<S> = {
  [Name in keyof S as undefined extends ValueOf<S[Name]> ? never : Name]: ValueOf<S[Name]>;
} & {
  [Name in keyof S as undefined extends ValueOf<S[Name]> ? Name : never]?: ValueOf<S[Name]>;
};

interface WithValue {
  value: Value;
}
type ValueOf<S> = S extends WithValue ? z.infer<ReturnType<S["value"]>> : never;

const { output, debug, ...settings } = settingDefinitions;

const ofSetting = ({ flag = "", env, help }: SettingDefinition): OptionSpec => ({
  flag,
  help: env === undefined ? help : `${help} [${env}]`,
});

/** Flags of every command. */
export const globalOptions = {
  version: {
    flag: "-V, --version",
    help: "print the version; with --verbose also the build and the runtime",
  },
  output: ofSetting(output),
  json: { flag: "--json", help: "the same as --output json" },
  field: { flag: "--field <path>", help: "print one value, raw: --field vault.creditCard.number" },
  reveal: { flag: "--reveal", help: "show secrets in tables" },
  quiet: { flag: "-q, --quiet", help: "fewer messages" },
  verbose: { flag: "-v, --verbose", help: "more messages" },
  debug: ofSetting(debug),
  color: { flag: "--color", help: "use color even if the output is not a terminal" },
  noColor: { flag: "--no-color", help: "do not use color" },
  input: { flag: "--no-input", help: "never prompt" },
  pager: { flag: "--no-pager", help: "do not use a pager" },
  ...Object.fromEntries(
    Object.entries<SettingDefinition>(settings)
      .filter(([, { flag }]) => flag !== undefined)
      .map(([name, definition]) => [name, ofSetting(definition)]),
  ),
} satisfies Readonly<Record<string, OptionSpec>>;

/** Flag that each command has of its own. */
export const helpOption: OptionSpec = { flag: "-h, --help", help: "show this help" };
