import type { Command as CommanderCommand } from "commander";
import type { App } from "../app.ts";
import type { SettingDefinition } from "../settings/definitions.ts";
import { outputFormats, settingDefinitions } from "../settings/definitions.ts";
import type { SettingsMode } from "../settings/settings.ts";

export interface Candidate {
  value: string;
  description?: string;
}

/** Source of the values of an option or an argument. */
export type ValueSource =
  /** `separated`: a comma-separated list. After a value that ends with `=`, more must be typed. */
  | { from: "list"; values: readonly string[]; separated?: boolean }
  /** Commands, nested ones after their parents; `also` has other words for the first position. */
  | { from: "commands"; also: readonly Candidate[] }
  /** UUIDs and, with `byLabel`, labels. */
  | { from: "vaults"; byLabel?: true }
  /** `given`: the source of a secret or a document: @FILE, -, env:NAME. */
  | { from: "profiles" | "programs" | "files" | "directories" | "given" | "anything" };

interface ValueSpec {
  help: string;
  /**
   * Reads the value of a flag; without it, and without choices, any text but the empty one is taken.
   * @throws InvalidArgumentError with the rule: the message continues the name of the flag
   */
  parse?: (text: string, flag: string) => unknown;
  choices?: readonly string[];
  /** What completion offers, if the name of the value does not tell. */
  values?: ValueSource;
}

export interface OptionSpec extends ValueSpec {
  /** Heading of the help under which it stands. */
  group?: string;
  /** Options and arguments of the same command that cannot be given with it. */
  conflicts?: readonly string[];
  /** Options of the same command that it is about. */
  requires?: readonly string[];
}

/**
 * Options by their flags, as commander takes them: `--kind <kind>`. One without a value is true, or with `--no-` in front false;
 * `<value...>` is given once for each value. A text is the help of an option of which there is no more to say.
 */
export type Flags = Readonly<Record<string, OptionSpec | string>>;

/** Options that stand under a heading of their own in the help. */
export const inGroup = <const F extends Flags>(group: string, flags: F): F =>
  Object.fromEntries(
    Object.entries(flags).map(([flag, spec]) => [flag, { ...specOf(spec), group }]),
  ) as F;

/** The name that commander gives to an option: externalRef for `--external-ref <text>`, ack for `--no-ack`. */
export const optionName = (flag: string): string =>
  flag
    .replace(/^--(?:no-)?| .*$/g, "")
    .replaceAll(/-(.)/g, (_, first: string) => first.toUpperCase());

export const specOf = (spec: OptionSpec | string): OptionSpec =>
  typeof spec === "string" ? { help: spec } : spec;

export interface ArgumentSpec extends ValueSpec {
  /** As commander takes it: `<uuid>`, `[uuid]`, `[files...]`. */
  term: string;
}

export const vaultArgument = {
  term: "[vault]",
  help: "UUID, label, or (on a terminal) the first 4 digits or more of the UUID",
  values: { from: "vaults", byLabel: true },
} as const satisfies ArgumentSpec;

export const vaultsArgument = { ...vaultArgument, term: "[vault...]" } as const;

/** A command as data, in commander's words: the parser, help, completion, man pages and the type of its options are made from it. */
export interface Command {
  /** Default: the summary as a sentence. */
  description?: string;
  /** In their order, by the names of the checked options. */
  arguments?: Terms;
  options?: Flags;
  /** Each works when pasted against the sandbox. */
  examples: readonly string[];
  /** Runs even if the configuration cannot be used: with the defaults, or to fix it. `configuration` of the settings holds the problem. */
  mode?: SettingsMode;
  /** Resolves to the exit code; without one it is 0, and whatever is not done is thrown. Gets the checked options (`command`). */
  run?(app: App, options: never, program: CommanderCommand): Promise<number | void>;
  commands?: readonly Listed[];
}

type Terms = Readonly<Record<string, ArgumentSpec>>;
type None = Readonly<Record<"", never>>;

/** What a list of commands has of one. What the line does not name is not loaded. */
export interface Listed {
  name: string;
  summary: string;
  /** Heading under which the first screen of help lists it. */
  group: string;
  load: () => Promise<Command>;
}

/** Commands under a heading of the help, by their names, by which files export them: what each is for, and what loads it. */
export const listed = <const T extends { readonly [Name in keyof T]: Entry<Name> }>(
  group: string,
  commands: T,
): Listed[] =>
  Object.entries<Entry<string>>(commands).map(([name, [summary, load]]) => ({
    name,
    summary,
    group,
    load: async () => (await load())[name] as Command,
  }));
type Entry<Name extends PropertyKey> = readonly [
  string,
  () => Loaded<Name> | Promise<Loaded<Name>>,
];
type Loaded<Name extends PropertyKey> = Readonly<Record<Name, Command>>;

/** A command whose `run` gets the options of its arguments and flags, checked: those that were not given are absent. */
export const command = <const A extends Terms = None, const F extends Flags = None>(
  command: Command & {
    arguments?: A;
    options?: F;
    run(
      app: App,
      options: ArgumentValues<A> & OptionValues<F>,
      program: CommanderCommand,
    ): Promise<number | void>;
  },
): Command => command;

/** By their names (`optionName`). */
export type OptionValues<S> = {
  [Flag in keyof S as OptionName<Flag>]?: Value<S[Flag], Flag> | undefined;
};
type OptionName<Flag> = Flag extends `--no-${infer Word}`
  ? Camel<Word>
  : Flag extends `--${infer Word} ${string}` | `--${infer Word}`
    ? Camel<Word>
    : never;
type Camel<Word extends string> = Word extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Word;

type ArgumentValues<S> = {
  [Name in keyof S as IsOptional<S[Name]> extends true ? never : Name]: ArgumentValue<S[Name]>;
} & {
  [Name in keyof S as IsOptional<S[Name]> extends true ? Name : never]?: ArgumentValue<S[Name]>;
};
type ArgumentValue<S> = S extends { term: infer Term } ? Value<S, Term> : never;
type IsOptional<S> = S extends { term: `[${string}...]` }
  ? false
  : S extends { term: `[${string}]` }
    ? true
    : false;

/** Of an option or argument that is written so. */
type Value<S, Written> = Written extends `${string}...${string}`
  ? readonly One<S, Written>[]
  : One<S, Written>;
type One<S, Written> = S extends { choices: readonly (infer Choice)[] }
  ? Choice
  : S extends { parse: (text: string, flag: string) => infer Parsed }
    ? Parsed
    : Written extends `${string}${"<" | "["}${string}`
      ? string
      : boolean;

const { output, profile, debug, ...settings } = settingDefinitions;

const ofSetting = ({ env, help }: SettingDefinition): string =>
  env === undefined ? help : `${help} [${env}]`;

export const globalOptions: Flags = {
  // main answers it.
  "-V, --version": "print the version",
  [output.flag]: { help: ofSetting(output), values: { from: "list", values: outputFormats } },
  "--json": "the same as --output json",
  "--field <path>": "print one value, raw: --field vault.creditCard.number",
  "--reveal": "show secrets in tables",
  "-q, --quiet": "fewer messages",
  "-v, --verbose": "more messages",
  [debug.flag]: ofSetting(debug),
  "--color": "use color even if the output is not a terminal",
  "--no-color": "do not use color",
  "--no-input": "never prompt",
  "--no-pager": "do not use a pager",
  [profile.flag]: { help: ofSetting(profile), values: { from: "profiles" } },
  ...Object.fromEntries(
    Object.values<SettingDefinition>(settings).flatMap((definition) =>
      definition.flag === undefined ? [] : [[definition.flag, ofSetting(definition)]],
    ),
  ),
};
