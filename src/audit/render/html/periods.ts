import type { TimelineEvent, VaultReport } from "../../../documents/audit.ts";

/** A period of a timeline, in milliseconds since the epoch. */
export interface Period {
  from: number;
  to: number;
  /** How the period ended, in words. */
  end: string;
}

/** Returns the periods with an open exchange: from an accepted start until the next start, the acknowledgement or the token's expiry. */
export function openPeriods(
  timeline: readonly TimelineEvent[],
  tokenLifetimeMs: number,
  until: number,
): Period[] {
  const periods: Period[] = [];
  let open: number | undefined;
  const close = (at: number, end: string): void => {
    if (open === undefined) return;
    const expiry = open + tokenLifetimeMs;
    periods.push(
      expiry < at
        ? { from: open, to: expiry, end: "its token expired" }
        : { from: open, to: at, end },
    );
    open = undefined;
  };
  for (const { item, state } of timeline) {
    const at = Date.parse(item.at);
    const starts = item.event === "read" || item.event === "update";
    if (starts) close(at, "replaced by another start");
    else if (item.event === "ack-read" || item.event === "ack-update") close(at, "acknowledged");
    else if (state === "locked" || state === "deleted") close(at, state);
    if (starts && state === "exchange-open") open = at;
  }
  close(until, "not acknowledged yet");
  return periods;
}

/** Returns the periods of locks. A lock without an event begins at `lockedAt`, or at the first event that finds the vault locked. */
export function lockedPeriods(
  { timeline = [], lockedAt, state }: VaultReport,
  until: number,
): Period[] {
  const periods: Period[] = [];
  const known = lockedAt === undefined ? undefined : Date.parse(lockedAt);
  let from: number | undefined;
  let last = -Infinity;
  for (const event of timeline) {
    const at = Date.parse(event.item.at);
    if (event.state === "locked")
      from ??= known !== undefined && known > last && known < at ? known : at;
    else if (from !== undefined) {
      periods.push({ from, to: at, end: event.state === "deleted" ? "deleted" : "unlocked" });
      from = undefined;
    }
    last = at;
  }
  if (from === undefined && state === "locked") from = known ?? last;
  if (from !== undefined && Number.isFinite(from))
    periods.push({ from, to: Math.max(until, from), end: "still locked" });
  return periods;
}
