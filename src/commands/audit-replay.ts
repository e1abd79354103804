import { attempt } from "../attempt.ts";
import { cutWords } from "../audit/explain/report.ts";
import * as parsers from "../audit/flags.ts";
import { parseMoment } from "../audit/columns/times.ts";
import { journalItems } from "../audit/meaning/journal.ts";
import { isProblem, roles, type Verdict, verdicts } from "../audit/read/item.ts";
import { type Replay, replay } from "../audit/replay.ts";
import { command, type Command, type OptionValues } from "../cli/command.ts";
import { listOf, valueOf } from "../cli/values.ts";
import { hasDigits, VaultNames } from "../cli/vault-name.ts";
import { defined } from "../defined.ts";
import type { Rules } from "../documents/audit.ts";
import { parseDuration } from "../duration.ts";
import { asVaultError, VaultError } from "../errors.ts";
import type { Local } from "../parts/state.ts";
import { defaults } from "../protocol/limits.ts";
import type { Settings } from "../settings/settings.ts";
import { count as inNumber } from "../terminal/count.ts";
import type { Narrator } from "../terminal/narrator.ts";
import { printableLine } from "../terminal/redactor.ts";
import { checkTargets, printReplay } from "./audit-replay/output.ts";

const auditFindings = verdicts.filter(isProblem);

const release = valueOf("must be a release, X.Y.Z, like 1.2.22", (text) =>
  /^\d{1,4}(?:\.\d{1,4}){2}$/.test(text),
);

const change = valueOf(
  "must be lock-after-failed=N or lock-after-unacked=N, such as lock-after-failed=5",
  (text) => /^lock-after-(?:failed|unacked)=[1-9]\d{0,8}$/.test(text),
  parsers.parseWhatIf,
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
      values: { from: "list", values: parsers.conditionKeys.map((key) => `${key}=`) },
      parse: parsers.parseWhere,
    },
    "--problems": "only vaults that are locked, at risk or unknown, or have an open exchange",
    "--timeline": { help: "show every event of the vault", requires: ["vault"] },
    "--map <columns>": {
      requires: ["files"],
      help: "name columns that were not recognized: time=when,action=what,vault=wallet.id; outcome=none for none",
      values: { from: "list", values: roles.map((role) => `${role}=`), separated: true },
      parse: parsers.parseMap,
    },
    "--zone <zone>": {
      requires: ["files"],
      help: "time zone of times that name none: Europe/Berlin, or +01:00 (default: UTC)",
      parse: parsers.parseZone,
    },
    "--action <old=new...>": {
      requires: ["files"],
      help: "say what an action that was not recognized means: --action VAULT_OPENED=READ_VAULT; may be repeated; vault help audit lists the names",
      parse: parsers.parseAction,
    },
    "--outcome <value=word...>": {
      requires: ["files"],
      help: "say what an outcome that was not recognized means: --outcome BOUNCED=failure, or =success; may be repeated",
      parse: parsers.parseOutcome,
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
      values: { from: "list", values: ["lock-after-failed=", "lock-after-unacked="] },
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

type Flags = OptionValues<typeof descriptor.options> & { files: readonly string[] };

/** Replays audit items. Calls no service, changes nothing. Exits with 17 after the output if a --fail-on condition is met. */
const auditReplay = command({
  ...descriptor,
  async run({ io, settings, state }, given) {
    const { host, narrator, output } = io;
    const { interrupted } = host;
    const options = parseAuditReplay(given, host.now());
    checkTargets({ io, settings }, options);
    const { files, map = {}, timeline = false } = options;
    // With --redact, what is printed calls the files by their numbers.
    const inputs = files.map((file, index) =>
      file === "-"
        ? { name: "standard input", stream: host.stdin.chunks() }
        : { name: options.redact ? `file-${index + 1}` : file, path: host.resolve(file) },
    );
    const isJournal = files.length === 0;
    const { history, labels } = await openHistory({ io, settings, state }, isJournal);
    const lines = { [Symbol.iterator]: () => journalItems(history?.journal() ?? []) };
    const sources = { inputs, labels, journal: isJournal ? lines : undefined };
    let opened: Replay | undefined;
    try {
      const rules = rulesOf(settings, given);
      const vault = options.vault && vaultOf(options.vault, labels);
      const asked = { ...options, ...sources, rules, map, vault, timeline };
      opened = await replay(defined({ ...asked, now: host.now(), signal: interrupted }));
      if (vault !== undefined) checkVault(narrator, vault, opened);
      // A report has them in its first lines.
      if (output.format !== "table" || output.field !== undefined)
        for (const warning of opened.summary.warnings) narrator.warn(warning);
      const finding = findingOf(opened, options.failOn ?? []);
      await printReplay(io, options, opened).catch((error: unknown) => {
        // A reader that closes the output early does not change the finding.
        throw interrupted.aborted || error instanceof VaultError ? error : (finding ?? error);
      });
      if (finding !== undefined) throw finding;
    } catch (error) {
      if (!interrupted.aborted || error !== interrupted.reason) throw error;
      throw new VaultError(
        "interrupted",
        "interrupted: the replay is incomplete, and nothing was changed",
        { retry: "safe", cause: error },
      );
    } finally {
      opened?.close();
      history?.close();
    }
  },
});
export { auditReplay as "audit-replay" };

/** @throws `invalid-input` for a time, and `usage` for flags that do not go together */
export function parseAuditReplay(flags: Flags, now: number) {
  const timeOf = (name: "since" | "until"): number | undefined => {
    const { [name]: text, zone } = flags;
    if (text === undefined) return undefined;
    const at = parseMoment(text, zone);
    if (at !== null) return at;
    if (/^\d+d$/.test(text)) return now - Number.parseInt(text, 10) * 86_400_000;
    if (/^[\d.]+(?:ms|s|m|h)$/.test(text)) return now - parseDuration(text, `--${name}`);
    throw new VaultError(
      "invalid-input",
      `--${name}: must be a date, a time as exports have them, or a duration back from now`,
      { hint: `--${name} 2026-11-20T14:02:11Z, or --${name} 2h` },
    );
  };
  const [since, until] = [timeOf("since"), timeOf("until")];
  if (since !== undefined && until !== undefined && since >= until)
    throw new VaultError("usage", "--since is not before --until", {
      hint: "--since 2h --until 1h",
    });
  if (flags.files.filter((file) => file === "-").length > 1)
    throw new VaultError("usage", "- is given twice, but there is only one standard input", {
      hint: "leave one of them out",
    });
  return { ...flags, since, until };
}

/** The history of this machine, read-only. Beside files it has labels alone: that it cannot be read is a warning. */
async function openHistory({ io: { narrator }, state }: Local, isJournal: boolean) {
  try {
    const history = await state.history();
    if (history === null && isJournal)
      narrator.note("this machine has no state yet, so there is no journal; name a file to replay");
    return { history, labels: history?.labels() };
  } catch (error) {
    if (isJournal) throw error;
    narrator.warn(`no labels of this machine are shown: ${asVaultError(error).message}`);
    return {};
  }
}

/**
 * Returns the UUID, or its first digits, of the vault that a name stands for: a label on this machine, else digits. They are taken
 * without a terminal too: nothing is sent.
 * @throws as `VaultNames.find`
 */
function vaultOf(name: string, labels: ReadonlyMap<string, string> = new Map()): string {
  const known = new VaultNames([...labels].map(([uuid, label]) => ({ uuid, label })));
  // Other vaults may be in the items than are known here.
  if (hasDigits(name) && !known.isLabel(name)) return name.toLowerCase();
  return known.find(name, false, printableLine(name)).uuid;
}

/** @throws `usage` for digits that fit several vaults, of which it lists the first */
function checkVault(narrator: Narrator, vault: string, replayed: Replay): void {
  const { vaultCount } = replayed.summary;
  if (vaultCount === 0) narrator.warn(`no item names vault ${vault}`);
  if (vaultCount <= 1) return;
  const uuids = Array.from(replayed.vaults({ problems: false }).take(10), ({ uuid }) => uuid);
  const all = [...uuids, ...(vaultCount > uuids.length ? ["…"] : [])].join(", ");
  const fits = `--vault: ${vault} fits ${inNumber(vaultCount, "vault")}: ${all}`;
  throw new VaultError("usage", fits, { hint: "give more digits" });
}

function rulesOf(settings: Settings, options: Flags): Rules {
  return {
    limits: settings.policy,
    tokenLifetimeMs: options.tokenLifetime ?? defaults.tokenLifetimeMs,
    autoLockAfterMs: defaults.autoLockAfterMs,
    release: options.release ?? parsers.newestRelease,
    failure: options.failure ?? null,
    ...defined({ actions: merged(options.action), outcomes: merged(options.outcome) }),
  };
}

const merged = <T>(all: readonly T[] | undefined): T | undefined =>
  all && (Object.assign({}, ...all) as T);

/** Returns the error of a --fail-on condition that is met, or that what could not be read of the inputs does not rule out. */
function findingOf(
  { summary, isUnread }: Replay,
  failOn: readonly Verdict[],
): VaultError | undefined {
  const { verdicts, inputs, skippedLines } = summary;
  const conditions = [...new Set(failOn)];
  const unmet = conditions.filter((verdict) => verdicts[verdict] === 0);
  const lines = `${inNumber(skippedLines, "line")} could not be read`;
  const elsewhere = "items name a vault in another column than the vault's";
  const unread = cutWords(inputs) ?? (skippedLines > 0 ? lines : isUnread ? elsewhere : undefined);
  const found = [
    ...conditions
      .filter((verdict) => verdicts[verdict] > 0)
      .map((verdict) => `${inNumber(verdicts[verdict], "vault is", "vaults are")} ${verdict}`),
    ...(unread !== undefined && unmet.length > 0
      ? [`${unread}: ${unmet.join(", ")} cannot be ruled out`]
      : []),
  ];
  return found.length === 0 ? undefined : new VaultError("finding", found.join("; "));
}
