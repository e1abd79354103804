import type { SettingDefinition } from "../settings/definitions.ts";
import { settingDefinitions } from "../settings/definitions.ts";
import type { OptionSpec } from "./command.ts";

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
  ...Object.fromEntries(
    Object.entries<SettingDefinition>(settings)
      .filter(([, { flag }]) => flag !== undefined)
      .map(([name, definition]) => [name, ofSetting(definition)]),
  ),
} satisfies Readonly<Record<string, OptionSpec>>;

/** Flag that each command has of its own. */
export const helpOption: OptionSpec = { flag: "-h, --help", help: "show this help" };
