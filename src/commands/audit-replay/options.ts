import { parseMoment } from "../../audit/columns/times.ts";
import * as given from "../../audit/flags.ts";
import { isRelease } from "../../audit/flags.ts";
import { VaultError } from "../../errors.ts";
import { parseDuration } from "../../duration.ts";
import type { AuditReplayFlags } from "../audit-replay.ts";

/** The flags, with values that were read. */
export type AuditReplayOptions = ReturnType<typeof parseAuditReplay>;

/** @throws `invalid-input` for a value, and `usage` for flags that do not go together */
export function parseAuditReplay(
  { action, outcome, tokenLifetime, ...flags }: AuditReplayFlags,
  now: number,
) {
  const { release, failure, zone } = flags;
  if (release !== undefined && !isRelease(release)) {
    throw new VaultError("invalid-input", "--release: must be a release, X.Y.Z, like 1.2.22", {
      hint: "nothing was sent; see --help for examples",
    });
  }
  if (failure !== undefined) checkPattern(failure);
  const options = {
    ...flags,
    zone: read(zone, given.parseZone),
    since: read(flags.since, (value) => timeOf(value, "--since", now, zone)),
    until: read(flags.until, (value) => timeOf(value, "--until", now, zone)),
    where: read(flags.where, given.parseWhere),
    map: read(flags.map, given.parseMap),
    actions: read(action, given.parseActions),
    outcomes: read(outcome, given.parseOutcomes),
    tokenLifetimeMs: read(tokenLifetime, lifetime),
    whatIf: read(flags.whatIf, given.parseWhatIf),
  };
  const { since = -Infinity, until = Infinity } = options;
  if (since >= until) throw usage("--since is not before --until", "--since 2h --until 1h");
  checkTogether({ action, outcome, ...flags });
  return options;
}

const read = <T, U>(value: T | undefined, parse: (value: T) => U): U | undefined =>
  value === undefined ? undefined : parse(value);

const usage = (message: string, hint: string): VaultError =>
  new VaultError("usage", message, { hint });

/** Returns a time, or a duration back from now, in milliseconds since the epoch. */
function timeOf(value: string, source: string, now: number, zone: string | undefined): number {
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

/** @throws `invalid-input` for what is no regular expression */
function checkPattern(pattern: string): void {
  let why = "must be one that does not match every item";
  try {
    if (!new RegExp(pattern, "i").test("")) return;
  } catch (error) {
    why = `must be a regular expression (${(error as Error).message})`;
  }
  throw new VaultError("invalid-input", `--failure: ${why}, such as 'denied|bad credentials'`);
}

function lifetime(value: string): number {
  const milliseconds = parseDuration(value, "--token-lifetime");
  if (milliseconds > 0) return milliseconds;
  throw new VaultError("invalid-input", "--token-lifetime: must be greater than 0", {
    hint: "--token-lifetime 5m",
  });
}

function checkTogether({ files, vault, timeline, ...flags }: AuditReplayFlags): void {
  if (timeline === true && vault === undefined)
    throw usage("--timeline shows one vault and needs --vault", "name the vault with --vault");
  const explained = (["map", "zone", "action", "outcome"] as const).find((name) => flags[name]);
  if (explained !== undefined && files.length === 0)
    throw usage(
      `--${explained} is for files; the journal of this machine needs none`,
      "leave it out",
    );
  if (files.filter((file) => file === "-").length > 1)
    throw usage("- is given twice, but there is only one standard input", "leave one of them out");
}
