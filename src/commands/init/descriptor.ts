import type { Command } from "commander";
import type { Act } from "../../cli/act.ts";
import { examples } from "../../cli/act.ts";

export function defineInit(program: Command, act: Act): void {
  program
    .command("init")
    .summary("set up a profile")
    .description(
      "Set up a profile: the service, the application and its key, which is sealed at rest. Asks for what is not given; flags of " +
        "settings, like --rate or --timeout, are kept in it too.",
    )
    .option("--live", "mark it as live: it shows itself, and asks before an update")
    .option("--state-key-source <source>", "where the key of the state is to come from: file, passphrase or keyring (file)")
    .option("--force", "replace a profile of this name")
    .addHelpText(
      "after",
      examples(
        "vault init",
        "vault init --profile demo --app-uuid $VAULTSVC_APP_UUID --force",
        "vault init --profile prod --live --base-url https://vaults.example.com",
      ),
    )
    .action(act(async () => (await import("./run.ts")).runInit, "mends-configuration"));
}
