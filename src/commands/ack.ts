import type { Descriptor, OptionsOf } from "../cli/command.ts";
import { loaded, vaultsArgument } from "../cli/command.ts";
import { manyFlags } from "../input/flags.ts";
import { kinds, operations } from "../protocol/endpoints.ts";

const ofMany = Object.keys(manyFlags);

const descriptor = {
  name: "ack",
  summary: "acknowledge pending or held exchanges",
  description:
    "Acknowledge the pending or held exchange of a vault. Acknowledging twice is no error; with nothing pending, exit 6 says that your last exchange ended otherwise. Many vaults: vault help many-vaults.",
  arguments: { vaults: vaultsArgument },
  options: {
    ...manyFlags,
    all: { ...manyFlags.all, help: "every pending exchange" },
    exchange: {
      flag: "--exchange <id>",
      help: "this exchange and no other: exit 6 if it was discarded or has expired",
      conflicts: [...ofMany, "token"],
    },
    unread: {
      flag: "--unread",
      help: "also acknowledge reads that may not have been delivered (uses up a read)",
    },
    saveCmd: {
      flag: "--save-cmd <command>",
      help: "first pass the recovery document to a shell command, after a --save-cmd that failed",
    },
    saved: {
      flag: "--saved",
      help: "the new credentials are saved elsewhere, after a --save-cmd that failed",
    },
    token: {
      flag: "--token <secret>",
      help: "a token from another machine, with --kind and --operation: @FILE, -, env:NAME",
      conflicts: ofMany,
      requires: ["kind", "operation"],
    },
    kind: {
      flag: "--kind <kind>",
      help: "with --token: kind of the vault",
      choices: kinds,
      requires: ["token"],
    },
    operation: {
      flag: "--operation <operation>",
      help: "with --token: get or update",
      choices: operations,
      requires: ["token"],
    },
  },
  examples: ["vault ack $VAULT", "vault ack --all", "vault ack $VAULT --json"],
  callsService: true,
} as const satisfies Descriptor;

export type AckOptions = OptionsOf<typeof descriptor>;

export const ack = loaded(descriptor, async () => (await import("./ack/run.ts")).runAck);
