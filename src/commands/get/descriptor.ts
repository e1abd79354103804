import type { Command } from "commander";
import type { Act } from "../../cli/act.ts";
import { kindList } from "../../protocol/endpoints.ts";
import { examples } from "../../cli/act.ts";

/** Flags of every exchange. */
export function addExchangeOptions(command: Command): Command {
  return command
    .option("--kind <kind>", `${kindList}: needed the first time, then remembered`)
    .option("--credentials <secret>", "the pair as JSON, or a recovery document: @FILE, -, env:NAME")
    .option("--encrypted-data <secret>", "the pair in two parts: @FILE, -, env:NAME")
    .option("--payload <secret>", "its other part: @FILE, -, env:NAME")
    .option("--hashed-pin <secret>", "of an online vault: @FILE, -, env:NAME")
    .option("--external-ref <text>", "your own reference in the service's audit log, 1 to 64 characters")
    .option("--no-ack", "hold the exchange after the delivery; vault ack finishes it")
    .option("--discard-pending", "drop a held or unacknowledged exchange and start anew with the old pair")
    .option("--credentials-out <file>", "write the recovery document there before, the new pair after the acknowledgement")
    .option("--save-cmd <command>", "give the recovery document to a shell command before the acknowledgement")
    .option("--dry-run", "show what would be sent and what it would count, and send nothing")
    .option("--generation <n>", "start with these stored credentials; with --force also superseded or refused ones")
    .option("--force", "send what the guard would refuse");
}

export function defineGet(program: Command, act: Act): void {
  addExchangeOptions(program.command("get").argument("[uuid]", "the vault"))
    .option("--yes", "do not ask, with --generation and --force")
    .summary("read a vault")
    .description("Read a vault: start, store the new credentials durably, deliver the contents, acknowledge.")
    .addHelpText(
      "after",
      examples(
        "vault get $VAULT --kind credit-card/offline --credentials @pair.json",
        "vault get $VAULT --json",
        "vault get $VAULT --field vault.creditCard.number",
        "vault get $VAULT --dry-run",
      ),
    )
    .action(act(async () => (await import("./run.ts")).runGet));
}
