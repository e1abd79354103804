import type { Command } from "commander";
import { Option } from "commander";
import { withValues } from "../../completion/values.ts";
import type { Act } from "../../cli/act.ts";
import { examples } from "../../cli/act.ts";
import { auditFindings } from "../../cli/findings.ts";

const changes = ["ack@", "without@", "lock-after-failed=", "lock-after-unacked=", "token-lifetime=", "release="];
const columns = ["time=", "action=", "vault=", "outcome=", "ip=", "ref=", "endpoint=", "application=", "id=", "description="];

export function defineAuditReplay(program: Command, act: Act): void {
  program
    .command("audit-replay")
    .argument("[files...]", "exports of audit items, or - for standard input (without: the journal of this machine)")
    .summary("explain a lockout from audit items")
    .description(
      "Replay audit items, and say for each vault what state it must be in, since when, which item caused it, who did it, and what to do now. " +
        "Reads NDJSON, a JSON array, CSV or TSV, also gzip, recognised by content; without a file the journal of this machine. " +
        "Calls no service, and changes nothing. With --json one document; with -o ndjson a line per vault, and a last one with the summary.",
    )
    .option("--vault <uuid>", "only this vault")
    .option("--since <time>", "only items from then on: ISO 8601, or a duration back from now, like 2h")
    .option("--until <time>", "only items up to then, and what held at that moment")
    .option("--problems", "only vaults that are locked, close to it, or have an exchange left open")
    .option("--timeline", "what happened, event by event (needs --vault)")
    .addOption(
      withValues(
        new Option("--map <columns>", "which column has what, where that is not recognised: time=when,action=what,vault=wallet.id"),
        {
          from: "list",
          values: columns,
          separated: true,
          open: true,
        },
      ),
    )
    .option("--html <file>", "write a page with all of it, that needs no network; - for standard output")
    .option("--failure <pattern>", "what marks a failed access, where that is not the usual wording: a regular expression (audit.failure)")
    .addOption(
      withValues(new Option("--release <version>", "release of the service, X.Y.Z: older ones lock otherwise (1.2.28)"), {
        from: "list",
        values: ["1.2.28", "1.2.22", "1.2.10"],
      }),
    )
    .option("--token-lifetime <duration>", "how long a token lives: an assumption (policy.tokenLifetime, 5m)")
    .addOption(
      withValues(
        new Option(
          "--what-if <change>",
          "what would differ: ack@TIME, without@TIME, lock-after-failed=N, lock-after-unacked=N, token-lifetime=DURATION, release=X.Y.Z",
        ),
        { from: "list", values: changes, open: true },
      ),
    )
    .option("--reenact", "perform the same in a private sandbox, and show where that comes to another state")
    .addOption(
      withValues(new Option("--fail-on <findings>", `exit 17 if one is found: ${auditFindings.join(", ")}, separated by commas`), {
        from: "list",
        values: auditFindings,
        separated: true,
      }),
    )
    .addHelpText(
      "after",
      examples(
        "vault audit-replay audit.ndjson",
        "vault audit-replay audit.ndjson --vault $VAULT --timeline",
        "vault audit-replay audit.csv.gz --problems --html report.html",
        "vault audit-replay audit.ndjson --what-if lock-after-failed=5 --json",
        "vault audit-replay --since 24h --fail-on locked,at-risk",
      ),
    )
    .action(act(async () => (await import("./run.ts")).runAuditReplay));
}
