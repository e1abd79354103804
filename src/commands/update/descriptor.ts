import type { Descriptor, OptionsOf } from "../../cli/command.ts";
import { contentsFlags, exchangeFields, exchangeFlags } from "../exchange/flags.ts";

export const update = {
  name: "update",
  summary: "give a vault new contents",
  description:
    "Give an offline vault new contents: start, store the new credentials durably, acknowledge, print a receipt. " +
    "On a terminal it shows the new contents, masked, and asks before it sends them.",
  arguments: { uuid: { term: "[uuid]", help: "the vault", is: "uuid" } },
  options: { ...contentsFlags, ...exchangeFlags, yes: { flag: "--yes", help: "do not ask" } },
  examples: [
    "vault update $VAULT --card @card.json",
    "vault update $VAULT --card-number @number --card-name Ada --expiry 04/2031",
    "vault update $VAULT --card @card.json --dry-run",
  ],
  fields: exchangeFields,
} as const satisfies Descriptor;

export type UpdateOptions = OptionsOf<typeof update>;
