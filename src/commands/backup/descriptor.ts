import type { Command } from "commander";
import type { Act } from "../../cli/act.ts";
import { examples } from "../../cli/act.ts";

export function defineBackup(program: Command, act: Act): void {
  program
    .command("backup")
    .argument("<file>", "the backup")
    .summary("copy the whole state, sealed; --restore brings it back")
    .description(
      "Copies the whole state into one file, consistently, also while other commands run. Secrets stay sealed: the key " +
        "is not in the file, so keep a copy of it elsewhere. A backup is right for as long as no vault is read or updated: each " +
        "exchange replaces the credentials.",
    )
    .option("--force", "replace a file that exists")
    .option("--restore", "put the backup in the place of the state, which is kept beside it")
    .option(
      "--service-restored",
      "with --restore: the service was brought back to that time too, so that superseded pairs may be valid again",
    )
    .option("--yes", "do not ask")
    .addHelpText("after", examples("vault backup vault-backup.db", "vault backup b.db && vault backup b.db --restore --yes"))
    .action(act(async () => (await import("./run.ts")).runBackup));
}
