import type { Descriptor, OptionsOf } from "../../cli/command.ts";
import { vaultArgument } from "../../cli/command.ts";

const findings = ["locked", "pending", "at-risk"] as const;

export const status = {
  name: "status",
  summary: "show what this machine knows about its vaults",
  description:
    "Show what this machine knows about its vaults: credentials, pending exchanges, counters toward lockout, dates. Never calls the service.",
  arguments: { uuid: { ...vaultArgument, help: `${vaultArgument.help} (default: all)` } },
  options: {
    pending: { flag: "--pending", help: "only vaults that need an acknowledgement" },
    history: { flag: "--history", help: "also show the stored generations and exchanges" },
    failOn: {
      flag: "--fail-on <findings>",
      help: `exit 17 if a vault is one of these (comma-separated): ${findings.join(", ")}`,
      values: { from: "list", values: findings, separated: true },
      value: (is) => is.listOf(findings),
    },
  },
  examples: [
    "vault status",
    "vault status $VAULT --history",
    "vault status --pending --json",
    "vault status --fail-on locked,pending,at-risk",
  ],
} as const satisfies Descriptor;

export type StatusOptions = OptionsOf<typeof status>;
