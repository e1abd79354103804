import type { Command } from "commander";
import type { Act } from "../../cli/act.ts";
import { examples } from "../../cli/act.ts";

export function defineAck(program: Command, act: Act): void {
  program
    .command("ack")
    .argument("[uuid]", "the vault")
    .summary("acknowledge a pending or held exchange")
    .description("Acknowledge the pending or held exchange of a vault. Acknowledging twice is no error.")
    .option("--all", "every pending exchange")
    .option("--unread", "also a read of a limited vault that is not known to have been delivered")
    .option("--save-cmd <command>", "give the recovery document to a shell command first: for an exchange whose --save-cmd failed")
    .option("--saved", "the new credentials are saved elsewhere already: for an exchange whose --save-cmd failed")
    .option("--token <secret>", "a token that this machine did not obtain (with --kind and --operation): @FILE, -, env:NAME")
    .option("--kind <kind>", "with --token: the kind of the vault")
    .option("--operation <operation>", "with --token: get or update")
    .addHelpText("after", examples("vault ack $VAULT", "vault ack --all", "vault ack $VAULT --json"))
    .action(act(async () => (await import("./run.ts")).runAck));
}
