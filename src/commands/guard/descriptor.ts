import type { Command } from "commander";
import type { Act } from "../../cli/act.ts";
import { examples } from "../../cli/act.ts";

export function defineGuard(program: Command, act: Act): void {
  program
    .command("guard")
    .argument("[uuid]", "the vault (all of them without)")
    .summary("the counters towards a lock, and what the guard would refuse")
    .description("The counters towards a lock, and what the guard would refuse. Never calls the service.")
    .option("--reset", "zero the counters, after an administrator has unlocked the vault")
    .option("--unanswered", "with --reset: clear only what is counted as possibly failed")
    .option("--yes", "do not ask")
    .addHelpText("after", examples("vault guard", "vault guard $VAULT", "vault guard $VAULT --reset --yes"))
    .action(act(async () => (await import("./run.ts")).runGuard));
}
