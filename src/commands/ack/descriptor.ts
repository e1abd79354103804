import type { Descriptor, OptionsOf } from "../../cli/command.ts";
import { vaultsArgument, text } from "../../cli/command.ts";
import { manyFlags } from "../../input/flags.ts";

export const ack = {
  name: "ack",
  summary: "acknowledge pending or held exchanges",
  description:
    "Acknowledge the pending or held exchange of a vault. Acknowledging twice is no error; with nothing pending, exit 6 says that your last exchange ended otherwise. Many vaults: vault help many-vaults.",
  arguments: { vaults: vaultsArgument },
  options: {
    ...manyFlags,
    all: { flag: "--all", help: "every pending exchange" },
    exchange: {
      flag: "--exchange <id>",
      help: "this exchange and no other: exit 6 if it was discarded or has expired",
      value: text,
    },
    unread: {
      flag: "--unread",
      help: "also acknowledge reads that may not have been delivered (uses up a read)",
    },
    saveCmd: {
      flag: "--save-cmd <command>",
      help: "first pass the recovery document to a shell command, after a --save-cmd that failed",
      value: text,
    },
    saved: {
      flag: "--saved",
      help: "the new credentials are saved elsewhere, after a --save-cmd that failed",
    },
    token: {
      flag: "--token <secret>",
      help: "a token from another machine, with --kind and --operation: @FILE, -, env:NAME",
      value: text,
    },
    kind: {
      flag: "--kind <kind>",
      help: "with --token: kind of the vault",
      value: (is) => is.kind,
    },
    operation: {
      flag: "--operation <operation>",
      help: "with --token: get or update",
      value: (is) => is.operation,
    },
  },
  examples: ["vault ack $VAULT", "vault ack --all", "vault ack $VAULT --json"],
  callsService: true,
} as const satisfies Descriptor;

export type AckOptions = OptionsOf<typeof ack>;
