import { attempt } from "../../attempt.ts";
import type { Command, OptionValues } from "../../cli/command.ts";
import { listOf, valueOf } from "../../cli/values.ts";
import { parseMoment } from "../../audit/columns/times.ts";
import * as given from "../../audit/flags.ts";
import { roles } from "../../audit/read/item.ts";
import { VaultError } from "../../errors.ts";
import { parseDuration } from "../../duration.ts";

const changes = ["lock-after-failed=", "lock-after-unacked="];
const columns = roles.map((role) => `${role}=`);
const conditions = given.conditionKeys.map((key) => `${key}=`);

/** Verdicts that --fail-on accepts. */
const auditFindings = ["locked", "at-risk", "open-exchange", "unknown"] as const;
export type AuditFinding = (typeof auditFindings)[number];

const release = valueOf("must be a release, X.Y.Z, like 1.2.22", (text) =>
  /^\d{1,4}(?:\.\d{1,4}){2}$/.test(text),
);

const change = valueOf(
  "must be lock-after-failed=N or lock-after-unacked=N, such as lock-after-failed=5",
  (text) => /^lock-after-(?:failed|unacked)=[1-9]\d{0,8}$/.test(text),
  given.parseWhatIf,
);

const pattern = valueOf(
  "must be a regular expression that does not match every item, such as 'denied|bad credentials'",
  (text) => attempt(() => !new RegExp(text, "i").test("")) === true,
);

export const descriptor = {
  description:
    "Replay audit items and report for each vault its state, since when, which item caused it, who sent it, and what to do. " +
    "Reads NDJSON, a JSON array, CSV or TSV, also gzip, recognized by content; without a file, the journal of this machine. " +
    "Calls no service and changes nothing. --json prints one document; -o ndjson prints a line per vault, then the summary.",
  arguments: {
    files: {
      term: "[files...]",
      help: "exports of audit items, or - for standard input (default: the journal of this machine)",
    },
  },
  options: {
    "--vault <vault>": {
      help: "only this vault: UUID, label, or first digits of the UUID",
      values: { from: "vaults", byLabel: true },
    },
    "--since <time>":
      "only items since a time: a date, a time as in exports, or a duration before now, like 2h or 7d",
    "--until <time>": "only items up to a time, with verdicts as of then",
    "--where <key=value...>": {
      help: "only vaults that have an item with this ref, ip, endpoint or app (* matches any text); if repeated, one item must match all",
      values: { from: "list", values: conditions },
      parse: given.parseWhere,
    },
    "--problems": "only vaults that are locked, at risk or unknown, or have an open exchange",
    "--timeline": { help: "show every event of the vault", requires: ["vault"] },
    "--map <columns>": {
      requires: ["files"],
      help: "name columns that were not recognized: time=when,action=what,vault=wallet.id; outcome=none for none",
      values: { from: "list", values: columns, separated: true },
      parse: given.parseMap,
    },
    "--zone <zone>": {
      requires: ["files"],
      help: "time zone of times that name none: Europe/Berlin, or +01:00 (default: UTC)",
      parse: given.parseZone,
    },
    "--action <old=new...>": {
      requires: ["files"],
      help: "say what an action that was not recognized means: --action VAULT_OPENED=READ_VAULT; may be repeated; vault help audit lists the names",
      parse: given.parseAction,
    },
    "--outcome <value=word...>": {
      requires: ["files"],
      help: "say what an outcome that was not recognized means: --outcome BOUNCED=failure, or =success; may be repeated",
      parse: given.parseOutcome,
    },
    "--html <file>": "write a self-contained page; - for standard output",
    "--markdown <file>": "write a text for a ticket; - for standard output",
    "--redact":
      "replace addresses, references, application ids and labels by words like ip-1, the same everywhere; UUIDs of vaults stay",
    "--failure <pattern>": {
      help: "regular expression that identifies failed attempts in your export",
      parse: pattern,
    },
    "--release <version>": {
      help: "release of the service, X.Y.Z; older releases have other lock rules (default: 1.2.28)",
      values: { from: "list", values: ["1.2.28", "1.2.22", "1.2.10"] },
      parse: release,
    },
    "--token-lifetime <duration>": {
      help: "token lifetime to assume (default: 5m)",
      parse: (text) => parseDuration(text, "--token-lifetime", 1),
    },
    "--what-if <change>": {
      help: "report what would differ with another limit: lock-after-failed=N or lock-after-unacked=N",
      values: { from: "list", values: changes },
      parse: change,
    },
    "--fail-on <findings>": {
      help: `exit 17 if one is found: ${auditFindings.join(", ")} (comma-separated)`,
      values: { from: "list", values: auditFindings, separated: true },
      parse: listOf(auditFindings),
    },
  },
  examples: [
    "vault audit-replay audit.ndjson",
    "vault audit-replay audit.ndjson --vault $VAULT --timeline",
    "vault audit-replay audit.ndjson --where 'ip=127.0.*' --problems",
    "vault audit-replay audit.csv.gz --problems --html report.html",
    "vault audit-replay audit.ndjson --markdown ticket.md --redact",
    "vault audit-replay audit.ndjson --what-if lock-after-failed=5 --json",
    "vault audit-replay --since 24h --fail-on locked,at-risk",
  ],
} as const satisfies Command;

/** The flags as commander has read them. */
type AuditReplayFlags = OptionValues<typeof descriptor.options> & {
  files: readonly string[];
};

/** The flags, with values that were read. */
export type AuditReplayOptions = ReturnType<typeof parseAuditReplay>;

/** @throws `invalid-input` for a time, and `usage` for flags that do not go together */
export function parseAuditReplay(flags: AuditReplayFlags, now: number) {
  const { files, zone } = flags;
  const since = timeOf(flags.since, "--since", now, zone);
  const until = timeOf(flags.until, "--until", now, zone);
  if (since !== undefined && until !== undefined && since >= until)
    throw new VaultError("usage", "--since is not before --until", {
      hint: "--since 2h --until 1h",
    });
  if (files.filter((file) => file === "-").length > 1)
    throw new VaultError("usage", "- is given twice, but there is only one standard input", {
      hint: "leave one of them out",
    });
  return { ...flags, since, until };
}

/** Returns a time, or a duration back from now, in milliseconds since the epoch. */
function timeOf(
  value: string | undefined,
  source: string,
  now: number,
  zone: string | undefined,
): number | undefined {
  if (value === undefined) return undefined;
  const at = parseMoment(value, zone);
  if (at !== null) return at;
  if (/^\d+d$/.test(value)) return now - Number.parseInt(value, 10) * 86_400_000;
  if (/^[\d.]+(?:ms|s|m|h)$/.test(value)) return now - parseDuration(value, source);
  throw new VaultError(
    "invalid-input",
    `${source}: must be a date, a time as exports have them, or a duration back from now`,
    { hint: `${source} 2026-11-20T14:02:11Z, or ${source} 2h` },
  );
}
