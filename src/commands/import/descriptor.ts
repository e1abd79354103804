import type { Descriptor, OptionsOf } from "../../cli/command.ts";
import { text } from "../../cli/command.ts";
import { newVaultFlags } from "../../input/flags.ts";

export const importVaults = {
  name: "import",
  summary: "add credentials to the state",
  description:
    "Add credentials to the state, even while an exchange is open. Never replaces: the former ones stay until a start with the new ones succeeds.",
  arguments: {
    uuid: {
      term: "[uuid]",
      help: "the vault (or --file for many)",
      value: (is) => is.optional(is.uuid),
    },
  },
  options: {
    kind: newVaultFlags.kind,
    credentials: {
      flag: "--credentials <secret>",
      help: "credentials as JSON, or a recovery document (finishes its exchange): @FILE, -, env:NAME",
      value: text,
    },
    label: newVaultFlags.label,
    file: {
      flag: "--file <file>",
      help: "import many vaults, as vault export --all writes them; - is standard input",
      value: text,
      conflicts: ["kind", "credentials", "label"],
    },
  },
  examples: [
    "vault import $VAULT --kind credit-card/offline --credentials @pair.json",
    "vault import $VAULT --credentials @pair.json --label 'spare card'",
    "vault import --file vaults.ndjson",
  ],
} as const satisfies Descriptor;

export type ImportOptions = OptionsOf<typeof importVaults>;
