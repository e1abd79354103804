import type { Descriptor, OptionsOf } from "../../cli/command.ts";
import { vaultArgument } from "../../cli/command.ts";

const findings = ["locked", "pending", "at-risk"] as const;

export const status = {
  name: "status",
  summary: "what this machine knows, without calling the service",
  description: "What this machine knows about its vaults: credentials, pending exchanges, counters towards a lock, dates.",
  arguments: { uuid: { ...vaultArgument, help: `${vaultArgument.help} (default: all)` } },
  options: {
    pending: { flag: "--pending", help: "only vaults that need an acknowledgement" },
    history: { flag: "--history", help: "also the generations and exchanges that are kept" },
    failOn: {
      flag: "--fail-on <findings>",
      help: `exit 17 if one is found: ${findings.join(", ")}, separated by commas`,
      listOf: findings,
    },
  },
  examples: [
    "vault status",
    "vault status $VAULT --history",
    "vault status --pending --json",
    "vault status --fail-on locked,pending,at-risk",
  ],
  fields: ["vaults"],
} as const satisfies Descriptor;

export type StatusOptions = OptionsOf<typeof status>;
