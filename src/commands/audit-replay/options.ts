import { parseMoment } from "../../audit/columns/times.ts";
import * as given from "../../audit/flags.ts";
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
  const { zone } = flags;
  const options = {
    ...flags,
    zone: read(zone, given.parseZone),
    since: read(flags.since, (value) => timeOf(value, "--since", now, zone)),
    until: read(flags.until, (value) => timeOf(value, "--until", now, zone)),
    where: read(flags.where, given.parseWhere),
    map: read(flags.map, given.parseMap),
    actions: read(action, given.parseActions),
    outcomes: read(outcome, given.parseOutcomes),
    tokenLifetimeMs: read(tokenLifetime, (value) => parseDuration(value, "--token-lifetime", 1)),
    whatIf: read(flags.whatIf, given.parseWhatIf),
  };
  const { since = -Infinity, until = Infinity, files } = options;
  if (since >= until)
    throw new VaultError("usage", "--since is not before --until", {
      hint: "--since 2h --until 1h",
    });
  if (files.filter((file) => file === "-").length > 1)
    throw new VaultError("usage", "- is given twice, but there is only one standard input", {
      hint: "leave one of them out",
    });
  return options;
}

const read = <T, U>(value: T | undefined, parse: (value: T) => U): U | undefined =>
  value === undefined ? undefined : parse(value);

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
