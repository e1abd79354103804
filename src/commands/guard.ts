import type { Command } from "commander";
import type { Act } from "./act.ts";
import { examples } from "./act.ts";

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
    .action(act(async () => (await import("./guard-run.ts")).runGuard));
}
