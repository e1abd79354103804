import type { Descriptor, OptionsOf } from "../cli/command.ts";
import { loaded } from "../cli/command.ts";
import { uuid } from "../cli/values.ts";

import { newVaultFlags } from "../input/flags.ts";

const descriptor = {
  name: "import",
  summary: "add credentials to the state",
  description:
    "Add credentials to the state, even while an exchange is open. Never replaces: the former ones stay until a start with the new ones succeeds.",
  arguments: {
    uuid: {
      term: "[uuid]",
      help: "the vault (or --file for many)",
      values: { from: "vaults" },
      parse: uuid,
    },
  },
  options: {
    kind: newVaultFlags.kind,
    credentials: {
      flag: "--credentials <secret>",
      help: "credentials as JSON, or a recovery document (finishes its exchange): @FILE, -, env:NAME",
    },
    label: newVaultFlags.label,
    file: {
      flag: "--file <file>",
      help: "import many vaults, as vault export --all writes them; - is standard input",
      conflicts: ["uuid", "kind", "credentials", "label"],
    },
  },
  examples: [
    "vault import $VAULT --kind credit-card/offline --credentials @pair.json",
    "vault import $VAULT --credentials @pair.json --label 'spare card'",
    "vault import --file vaults.ndjson",
  ],
} as const satisfies Descriptor;

export type ImportOptions = OptionsOf<typeof descriptor>;

export const importVaults = loaded(
  descriptor,
  async () => (await import("./import/run.ts")).runImport,
);
