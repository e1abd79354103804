import type { Origin } from "../../documents/audit.ts";

/** Describes an origin: `reference report-cron from 10.0.0.7`. */
export function originWords({ rule, externalRef, address, application }: Origin): string {
  if (rule === "auto-lock") return "auto-lock";
  if (rule === "unseen") return "a cause not in the log";
  const from = address === undefined ? "" : ` from ${short(address)}`;
  if (rule === "administrator") return `an administrator${from}`;
  if (externalRef !== undefined) return `reference ${short(externalRef)}${from}`;
  if (address !== undefined) return `calls${from}`;
  return application === undefined
    ? "calls of unknown or mixed origin"
    : `application ${short(application)}`;
}

/** Clips a value from a log to what a line has room for. */
export const short = (value: string): string =>
  value.length <= 100 ? value : `${value.slice(0, 100)}…`;
