import type { Command } from "commander";
import { kindList } from "../protocol/endpoints.ts";
import type { Act } from "../cli/act.ts";
import { examples } from "../cli/act.ts";
import { addContentsOptions } from "./exchange/contents-flags.ts";

/** What stands in front of every description here: the specification shows none of these shapes. */
const extended = "Extended operation, which the interface document names without showing its shape.";

export function defineInfo(program: Command, act: Act): void {
  program
    .command("info")
    .argument("[uuid]", "the vault")
    .summary("ask the service for a vault's dates and metadata (extended)")
    .description(
      `Ask the service for a vault's dates, metadata and reads left. Needs no credentials and counts nothing towards a lock. ${extended}`,
    )
    .option("--kind <kind>", `needed where the vault is not known here: ${kindList}`)
    .addHelpText("after", examples("vault info $VAULT", "vault info $VAULT --json", "vault info $VAULT --field info.autoLockDate"))
    .action(act(async () => (await import("./info/run.ts")).runInfo));
}

export function defineCreate(program: Command, act: Act): void {
  addContentsOptions(
    program
      .command("create")
      .summary("create a vault (extended)")
      .description(`Create a vault. Its credentials are stored durably before anything is printed. ${extended}`)
      .option("--kind <kind>", kindList),
  )
    .option("--hashed-pin <secret>", "of an online vault, base64; every read needs it then: @FILE, -, env:NAME")
    .option("--max-usage <n>", "of an offline vault: how often it can be read")
    .option("--expiry-date <date>", "of an offline vault, ISO 8601: when the service deletes it")
    .option("--metadata <key=value...>", "up to 50 pairs of letters, digits, dashes, underscores and spaces")
    .option("--external-ref <text>", "your own reference in the service's audit log, 1 to 64 characters")
    .option("--label <text>", "a name for people, kept on this machine only")
    .option("--credentials-out <file>", "write the credentials there as well, mode 0600")
    .addHelpText(
      "after",
      examples(
        "vault create --kind generic/offline --content @note.txt --label note",
        "vault create --kind generic/offline --content @note.txt --max-usage 3",
        "vault create --kind generic/offline --content @note.txt --metadata team=ops",
        "vault create --kind credit-card/offline --card @card.json --json",
      ),
    )
    .action(act(async () => (await import("./create/run.ts")).runCreate));
}

export function defineDelete(program: Command, act: Act): void {
  program
    .command("delete")
    .argument("[uuid]", "the vault")
    .summary("delete a vault at the service, for good (extended)")
    .description(
      "Delete a vault at the service, for good, and then its credentials here. Needs the right credentials, which this machine must know; " +
        `wrong ones count towards a lock, so it passes the guard like a start. ${extended}`,
    )
    .option("--external-ref <text>", "your own reference in the service's audit log, 1 to 64 characters")
    .option("--discard-pending", "also with an exchange open or in doubt")
    .option("--force", "send what the guard would refuse")
    .option("--yes", "do not ask for the last four characters of the uuid")
    .addHelpText("after", examples("vault delete $VAULT --yes", "vault delete $VAULT --yes --external-ref 'closed account 2291'"))
    .action(act(async () => (await import("./delete/run.ts")).runDelete));
}
