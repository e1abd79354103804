import type { Descriptor, OptionsOf } from "../cli/command.ts";
import { loaded, vaultArgument } from "../cli/command.ts";
import { listOf } from "../cli/values.ts";

const findings = [
  "locked",
  "pending",
  "at-risk",
  "rejected",
  "in-doubt",
  "gone",
  "unverified",
] as const;

export type Finding = (typeof findings)[number];

const descriptor = {
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
      help: `exit 17 if a vault is one of these (comma-separated): ${findings.join(", ")}; or any`,
      values: { from: "list", values: [...findings, "any"], separated: true },
      parse: listOf([...findings, "any"]),
    },
    olderThan: {
      flag: "--older-than <duration>",
      help: "with --fail-on: only if it has been so for this long, such as 30m",
      requires: ["failOn"],
    },
  },
  examples: [
    "vault status",
    "vault status $VAULT --history",
    "vault status --pending --json",
    "vault status --fail-on any --older-than 1h",
  ],
} as const satisfies Descriptor;

export type StatusOptions = OptionsOf<typeof descriptor>;

export const status = loaded(descriptor, async () => (await import("./status/run.ts")).runStatus);
