import type { Descriptor, OptionsOf } from "../cli/command.ts";
import { loaded, vaultArgument } from "../cli/command.ts";
import { wholeNumber } from "../cli/values.ts";

const descriptor = {
  name: "export",
  summary: "print credentials as JSON, in plain text",
  description:
    "Print the credentials that the next start would send first, as JSON in plain text; while an exchange is open, its recovery document.",
  arguments: { uuid: { ...vaultArgument, help: `${vaultArgument.help} (or --all)` } },
  options: {
    all: {
      flag: "--all",
      help: "every vault, one per line, as vault import --file reads them",
      conflicts: ["uuid", "generation"],
    },
    generation: {
      flag: "--generation <n>",
      help: "these stored credentials, even refused or superseded ones",
      parse: wholeNumber,
    },
  },
  examples: ["vault export $VAULT > copy.json", "vault export --all > copies.ndjson"],
} as const satisfies Descriptor;

export type ExportOptions = OptionsOf<typeof descriptor>;

export const exportVaults = loaded(
  descriptor,
  async () => (await import("./export/run.ts")).runExport,
);
