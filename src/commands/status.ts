import type { Command } from "commander";
import type { Act } from "./act.ts";
import { examples } from "./act.ts";

export function defineStatus(program: Command, act: Act): void {
  program
    .command("status")
    .argument("[uuid]", "the vault (all of them, a row each, without)")
    .summary("what this machine knows, without calling the service")
    .description("What this machine knows about its vaults: credentials, pending exchanges, counters towards a lock, dates.")
    .option("--pending", "only vaults that need an acknowledgement")
    .option("--history", "also the generations and exchanges that are kept")
    .option("--fail-on <findings>", "exit 17 if one is found: locked, pending, at-risk, separated by commas")
    .addHelpText(
      "after",
      examples(
        "vault status",
        "vault status $VAULT --history",
        "vault status --pending --json",
        "vault status --fail-on locked,pending,at-risk",
      ),
    )
    .action(act(async () => (await import("./status-run.ts")).runStatus));
}
