import type { Descriptor, OptionsOf } from "../../cli/command.ts";

export const forget = {
  name: "forget",
  summary: "remove a vault's credentials from the state",
  description: "Remove a vault's credentials from the state. The counters towards a lock are kept.",
  arguments: { uuid: { term: "[uuid]", help: "the vault", is: "uuid" } },
  options: {
    discardPending: { flag: "--discard-pending", help: "also with an exchange open or in doubt" },
    yes: { flag: "--yes", help: "do not ask" },
  },
  examples: ["vault export $VAULT > copy.json && vault forget $VAULT --yes", "vault forget $VAULT --discard-pending --yes"],
  fields: ["forgotten"],
} as const satisfies Descriptor;

export type ForgetOptions = OptionsOf<typeof forget>;
