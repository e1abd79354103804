import type { Descriptor, OptionsOf } from "../../cli/command.ts";
import { exchangeFields, exchangeFlags } from "../exchange/flags.ts";

export const get = {
  name: "get",
  summary: "read a vault",
  description: "Read a vault: start, store the new credentials durably, deliver the contents, acknowledge.",
  arguments: { uuid: { term: "[uuid]", help: "the vault", is: "uuid" } },
  options: { ...exchangeFlags, yes: { flag: "--yes", help: "do not ask, with --generation and --force" } },
  examples: [
    "vault get $VAULT --kind credit-card/offline --credentials @pair.json",
    "vault get $VAULT --json",
    "vault get $VAULT --field vault.creditCard.number",
    "vault get $VAULT --dry-run",
  ],
  fields: exchangeFields,
} as const satisfies Descriptor;

export type GetOptions = OptionsOf<typeof get>;
