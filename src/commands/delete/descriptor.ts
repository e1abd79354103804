import type { Descriptor, OptionsOf } from "../../cli/command.ts";
import { exchangeFlags, extended } from "../exchange/flags.ts";

export const deleteVault = {
  name: "delete",
  summary: "delete a vault at the service, for good (extended)",
  description:
    "Delete a vault at the service, for good, and then its credentials here. Needs the right credentials, which this machine must know; " +
    `wrong ones count towards a lock, so it passes the guard like a start. ${extended}`,
  arguments: { uuid: { term: "[uuid]", help: "the vault", is: "uuid" } },
  options: {
    externalRef: exchangeFlags.externalRef,
    discardPending: { flag: "--discard-pending", help: "also with an exchange open or in doubt" },
    force: exchangeFlags.force,
    yes: { flag: "--yes", help: "do not ask for the last four characters of the uuid" },
  },
  examples: ["vault delete $VAULT --yes", "vault delete $VAULT --yes --external-ref 'closed account 2291'"],
  fields: ["deleted"],
} as const satisfies Descriptor;

export type DeleteOptions = OptionsOf<typeof deleteVault>;
