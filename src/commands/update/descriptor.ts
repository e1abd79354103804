import type { Command } from "commander";
import type { Act } from "../../cli/act.ts";
import { examples } from "../../cli/act.ts";
import { addContentsOptions } from "../exchange/contents-flags.ts";
import { addExchangeOptions } from "../get/descriptor.ts";

export function defineUpdate(program: Command, act: Act): void {
  const command = program
    .command("update")
    .argument("[uuid]", "the vault")
    .summary("give a vault new contents")
    .description(
      "Give an offline vault new contents: start, store the new credentials durably, acknowledge, print a receipt. " +
        "On a terminal it shows the new contents, masked, and asks before it sends them.",
    );
  addExchangeOptions(addContentsOptions(command))
    .option("--yes", "do not ask")
    .addHelpText(
      "after",
      examples(
        "vault update $VAULT --card @card.json",
        "vault update $VAULT --card-number @number --card-name Ada --expiry 04/2031",
        "vault update $VAULT --card @card.json --dry-run",
      ),
    )
    .action(act(async () => (await import("./run.ts")).runUpdate));
}
