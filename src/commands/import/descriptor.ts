import type { Command } from "commander";
import type { Act } from "../../cli/act.ts";
import { kindList } from "../../protocol/endpoints.ts";
import { examples } from "../../cli/act.ts";

export function defineImport(program: Command, act: Act): void {
  program
    .command("import")
    .argument("[uuid]", "the vault (or --file for many)")
    .summary("put credentials into the state")
    .description(
      "Put credentials into the state, whatever is open there. Never replaces: the former ones stay until a start with the new ones succeeds.",
    )
    .option("--kind <kind>", kindList)
    .option("--credentials <secret>", "the pair as JSON, or a recovery document, which is settled: @FILE, -, env:NAME")
    .option("--label <text>", "a name for people")
    .option("--rebind", "the vault moves to this --base-url, with all that is known of it")
    .option("--file <file>", "many vaults as vault export --all writes them: a file, or - for stdin")
    .addHelpText(
      "after",
      examples(
        "vault import $VAULT --kind credit-card/offline --credentials @pair.json",
        "vault import $VAULT --credentials @pair.json --label 'spare card'",
        "vault import --file vaults.ndjson",
      ),
    )
    .action(act(async () => (await import("./run.ts")).runImport));
}

export function defineExport(program: Command, act: Act): void {
  program
    .command("export")
    .argument("[uuid]", "the vault (or --all)")
    .summary("print credentials as JSON, in clear")
    .description(
      "Print the credentials that the next start would send first as JSON, in plain text; of an open exchange the recovery document.",
    )
    .option("--all", "every vault, a line each, as vault import --file reads them")
    .option("--generation <n>", "these stored credentials, also refused or superseded ones")
    .addHelpText("after", examples("vault export $VAULT > copy.json", "vault export --all > copies.ndjson"))
    .action(act(async () => (await import("../export/run.ts")).runExport));
}

export function defineForget(program: Command, act: Act): void {
  program
    .command("forget")
    .argument("[uuid]", "the vault")
    .summary("remove a vault's credentials from the state")
    .description("Remove a vault's credentials from the state. The counters towards a lock are kept.")
    .option("--discard-pending", "also with an exchange open or in doubt")
    .option("--yes", "do not ask")
    .addHelpText(
      "after",
      examples("vault export $VAULT > copy.json && vault forget $VAULT --yes", "vault forget $VAULT --discard-pending --yes"),
    )
    .action(act(async () => (await import("../forget/run.ts")).runForget));
}
