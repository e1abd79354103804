import type { Descriptor, OptionsOf } from "../../cli/command.ts";
import { vaultArgument } from "../../cli/command.ts";

export const exportVaults = {
  name: "export",
  summary: "print credentials as JSON, in plain text",
  description:
    "Print the credentials that the next start would send first, as JSON in plain text; while an exchange is open, its recovery document.",
  arguments: { uuid: { ...vaultArgument, help: `${vaultArgument.help} (or --all)` } },
  options: {
    all: {
      flag: "--all",
      help: "every vault, one per line, as vault import --file reads them",
      conflicts: ["generation"],
    },
    generation: {
      flag: "--generation <n>",
      help: "these stored credentials, even refused or superseded ones",
      value: (is) => is.wholeNumber,
    },
  },
  examples: ["vault export $VAULT > copy.json", "vault export --all > copies.ndjson"],
} as const satisfies Descriptor;

export type ExportOptions = OptionsOf<typeof exportVaults>;
