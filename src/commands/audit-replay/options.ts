import type { Role } from "../../audit/read/item.ts";
import type { Outcomes, Renames } from "../../audit/meaning/actions.ts";
import { parseActions, parseOutcomes } from "../../audit/meaning/actions.ts";
import { parseMap, parseZone } from "../../audit/columns/given.ts";
import { parseMoment } from "../../audit/columns/times.ts";
import type { WhatIf } from "../../audit/fold/rules.ts";
import { isRelease, parseWhatIf } from "../../audit/fold/rules.ts";
import type { Condition } from "../../audit/selection.ts";
import { parseWhere } from "../../audit/selection.ts";
import { checkPattern, parseDuration } from "../../settings/parsers.ts";
import { VaultError } from "../../errors.ts";
import type { AuditReplayFlags } from "./descriptor.ts";

export interface AuditReplayOptions extends Omit<
  AuditReplayFlags,
  "since" | "until" | "where" | "map" | "action" | "outcome" | "tokenLifetime" | "whatIf"
> {
  since?: number | undefined;
  until?: number | undefined;
  where?: readonly Condition[] | undefined;
  map?: Partial<Record<Role, string>> | undefined;
  actions?: Renames | undefined;
  outcomes?: Outcomes | undefined;
  tokenLifetimeMs?: number | undefined;
  whatIf?: WhatIf | undefined;
}

/** @throws `invalid-input` for a value, and `usage` for flags that do not go together */
export function parseAuditReplay(
  {
    since,
    until,
    where,
    map,
    zone,
    action,
    outcome,
    tokenLifetime,
    whatIf,
    ...rest
  }: AuditReplayFlags,
  now: number,
): AuditReplayOptions {
  if (rest.release !== undefined && !isRelease(rest.release)) {
    throw new VaultError("invalid-input", "--release: must be a release, X.Y.Z, like 1.2.22", {
      hint: "nothing was sent; see --help for examples",
    });
  }
  const options: AuditReplayOptions = {
    ...rest,
    zone: zone === undefined ? undefined : parseZone(zone),
    since: since === undefined ? undefined : timeOf(since, "--since", now, zone),
    until: until === undefined ? undefined : timeOf(until, "--until", now, zone),
    where: where === undefined ? undefined : parseWhere(where),
    map: map === undefined ? undefined : parseMap(map),
    actions: action === undefined ? undefined : parseActions(action),
    outcomes: outcome === undefined ? undefined : parseOutcomes(outcome),
    tokenLifetimeMs: tokenLifetime === undefined ? undefined : lifetime(tokenLifetime),
    whatIf: whatIf === undefined ? undefined : parseWhatIf(whatIf),
  };
  if (options.failure !== undefined) checkPattern(options.failure, "--failure");
  checkTogether(options);
  return options;
}

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

function lifetime(value: string): number {
  const milliseconds = parseDuration(value, "--token-lifetime");
  if (milliseconds > 0) return milliseconds;
  throw new VaultError("invalid-input", "--token-lifetime: must be greater than 0", {
    hint: "--token-lifetime 5m",
  });
}

function checkTogether({
  files,
  vault,
  timeline,
  map,
  zone,
  actions,

  outcomes,

  since = -Infinity,
  until = Infinity,
}: AuditReplayOptions): void {
  const usage = (message: string, hint: string): VaultError =>
    new VaultError("usage", message, { hint });
  if (since >= until) throw usage("--since is not before --until", "--since 2h --until 1h");
  if (timeline === true && vault === undefined)
    throw usage("--timeline shows one vault and needs --vault", "name the vault with --vault");
  const [explained] = Object.entries({
    "--map": map,
    "--zone": zone,
    "--action": actions,
    "--outcome": outcomes,
  })
    .filter(([, value]) => value !== undefined)
    .map(([flag]) => flag);
  if (explained !== undefined && files.length === 0)
    throw usage(
      `${explained} is for files; the journal of this machine needs none`,
      "leave it out",
    );
  if (files.filter((file) => file === "-").length > 1)
    throw usage("- is given twice, but there is only one standard input", "leave one of them out");
}
