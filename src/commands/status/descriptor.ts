import type { Command } from "commander";
import { Option } from "commander";
import { withValues } from "../../completion/values.ts";
import type { Act } from "../../cli/act.ts";
import { examples } from "../../cli/act.ts";
import { statusFindings } from "../../cli/findings.ts";

export function defineStatus(program: Command, act: Act): void {
  program
    .command("status")
    .argument("[uuid]", "the vault (all of them, a row each, without)")
    .summary("what this machine knows, without calling the service")
    .description("What this machine knows about its vaults: credentials, pending exchanges, counters towards a lock, dates.")
    .option("--pending", "only vaults that need an acknowledgement")
    .option("--history", "also the generations and exchanges that are kept")
    .addOption(
      withValues(new Option("--fail-on <findings>", `exit 17 if one is found: ${statusFindings.join(", ")}, separated by commas`), {
        from: "list",
        values: statusFindings,
        separated: true,
      }),
    )
    .addHelpText(
      "after",
      examples(
        "vault status",
        "vault status $VAULT --history",
        "vault status --pending --json",
        "vault status --fail-on locked,pending,at-risk",
      ),
    )
    .action(act(async () => (await import("./run.ts")).runStatus));
}
