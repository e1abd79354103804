import type { Descriptor, OptionsOf } from "../../cli/command.ts";
import { kindList } from "../../protocol/endpoints.ts";

export const importVaults = {
  name: "import",
  summary: "put credentials into the state",
  description:
    "Put credentials into the state, whatever is open there. Never replaces: the former ones stay until a start with the new ones succeeds.",
  arguments: { uuid: { term: "[uuid]", help: "the vault (or --file for many)", is: "uuid" } },
  options: {
    kind: { flag: "--kind <kind>", help: kindList, is: "kind" },
    credentials: {
      flag: "--credentials <secret>",
      help: "the pair as JSON, or a recovery document, which is settled: @FILE, -, env:NAME",
    },
    label: { flag: "--label <text>", help: "a name for people" },
    rebind: { flag: "--rebind", help: "the vault moves to this --base-url, with all that is known of it" },
    file: { flag: "--file <file>", help: "many vaults as vault export --all writes them: a file, or - for stdin" },
  },
  examples: [
    "vault import $VAULT --kind credit-card/offline --credentials @pair.json",
    "vault import $VAULT --credentials @pair.json --label 'spare card'",
    "vault import --file vaults.ndjson",
  ],
  fields: ["imported", "failed"],
} as const satisfies Descriptor;

export type ImportOptions = OptionsOf<typeof importVaults>;
