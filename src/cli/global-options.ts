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
  version: { flag: "-V, --version", help: "print the version" },
  output: ofSetting(output),
  json: { flag: "--json", help: "the same as --output json" },
  field: { flag: "--field <path>", help: "print one value, raw: --field vault.creditCard.number" },
  reveal: { flag: "--reveal", help: "show secrets in table form" },
  quiet: { flag: "-q, --quiet", help: "less talk" },
  verbose: { flag: "-v, --verbose", help: "more talk" },
  debug: ofSetting(debug),
  color: { flag: "--color", help: "colour also where the output is not a terminal" },
  noColor: { flag: "--no-color", help: "no colour" },
  input: { flag: "--no-input", help: "never ask" },
  ...Object.fromEntries(
    Object.entries<SettingDefinition>(settings)
      .filter(([, { flag }]) => flag !== undefined)
      .map(([name, definition]) => [name, ofSetting(definition)]),
  ),
} satisfies Readonly<Record<string, OptionSpec>>;

/** Flag that each command has of its own. */
export const helpOption: OptionSpec = { flag: "-h, --help", help: "show this help" };
