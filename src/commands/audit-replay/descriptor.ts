import type { Descriptor, OptionsOf } from "../../cli/command.ts";

const changes = ["ack@", "without@", "lock-after-failed=", "lock-after-unacked=", "token-lifetime=", "release="];
const columns = ["time=", "action=", "vault=", "outcome=", "ip=", "ref=", "endpoint=", "application=", "id=", "description="];

/** Verdicts that somebody should hear of. */
const auditFindings = ["locked", "at-risk", "open-exchange"] as const;
export type AuditFinding = (typeof auditFindings)[number];

export const auditReplay = {
  name: "audit-replay",
  summary: "explain a lockout from audit items",
  description:
    "Replay audit items, and say for each vault what state it must be in, since when, which item caused it, who did it, and what to do now. " +
    "Reads NDJSON, a JSON array, CSV or TSV, also gzip, recognised by content; without a file the journal of this machine. " +
    "Calls no service, and changes nothing. With --json one document; with -o ndjson a line per vault, and a last one with the summary.",
  arguments: {
    files: { term: "[files...]", help: "exports of audit items, or - for standard input (without: the journal of this machine)" },
  },
  options: {
    vault: { flag: "--vault <uuid>", help: "only this vault", is: "uuid" },
    since: { flag: "--since <time>", help: "only items from then on: ISO 8601, or a duration back from now, like 2h" },
    until: { flag: "--until <time>", help: "only items up to then, and what held at that moment" },
    problems: { flag: "--problems", help: "only vaults that are locked, close to it, or have an exchange left open" },
    timeline: { flag: "--timeline", help: "what happened, event by event (needs --vault)" },
    map: {
      flag: "--map <columns>",
      help: "which column has what, where that is not recognised: time=when,action=what,vault=wallet.id",
      values: { from: "list", values: columns, separated: true, open: true },
    },
    html: { flag: "--html <file>", help: "write a page with all of it, that needs no network; - for standard output" },
    failure: {
      flag: "--failure <pattern>",
      help: "what marks a failed access, where that is not the usual wording: a regular expression (audit.failure)",
    },
    release: {
      flag: "--release <version>",
      help: "release of the service, X.Y.Z: older ones lock otherwise (1.2.28)",
      values: { from: "list", values: ["1.2.28", "1.2.22", "1.2.10"] },
    },
    tokenLifetime: { flag: "--token-lifetime <duration>", help: "how long a token lives: an assumption (policy.tokenLifetime, 5m)" },
    whatIf: {
      flag: "--what-if <change>",
      help: "what would differ: ack@TIME, without@TIME, lock-after-failed=N, lock-after-unacked=N, token-lifetime=DURATION, release=X.Y.Z",
      values: { from: "list", values: changes, open: true },
    },
    reenact: { flag: "--reenact", help: "perform the same in a private sandbox, and show where that comes to another state" },
    failOn: {
      flag: "--fail-on <findings>",
      help: `exit 17 if one is found: ${auditFindings.join(", ")}, separated by commas`,
      listOf: auditFindings,
    },
  },
  examples: [
    "vault audit-replay audit.ndjson",
    "vault audit-replay audit.ndjson --vault $VAULT --timeline",
    "vault audit-replay audit.csv.gz --problems --html report.html",
    "vault audit-replay audit.ndjson --what-if lock-after-failed=5 --json",
    "vault audit-replay --since 24h --fail-on locked,at-risk",
  ],
} as const satisfies Descriptor;

export type AuditReplayFlags = OptionsOf<typeof auditReplay>;
