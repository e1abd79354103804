import type { TimelineEvent, VaultReport } from "../../report/report.ts";

/** Of the time that a timeline shows, milliseconds since the epoch. */
export interface Period {
  from: number;
  to: number;
  /** How it ended: for an exchange acknowledged, replaced by another start, expired; or it lasts. */
  end: string;
}

/** When an exchange was open: from a start that was accepted until the next start, its acknowledgement, or the end of its token. */
export function openPeriods(timeline: readonly TimelineEvent[], tokenLifetimeMs: number, until: number): Period[] {
  const periods: Period[] = [];
  let open: number | undefined;
  const close = (at: number, end: string): void => {
    if (open === undefined) return;
    const expiry = open + tokenLifetimeMs;
    periods.push(expiry < at ? { from: open, to: expiry, end: "its token expired" } : { from: open, to: at, end });
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

/** When the vault was locked. Where no event shows the lock it begins at `lockedAt`, or with the first event that finds it locked. */
export function lockedPeriods({ timeline = [], lockedAt, state }: VaultReport, until: number): Period[] {
  const periods: Period[] = [];
  const known = lockedAt === undefined ? undefined : Date.parse(lockedAt);
  let from: number | undefined;
  let last = -Infinity;
  for (const event of timeline) {
    const at = Date.parse(event.item.at);
    if (event.state === "locked") from ??= known !== undefined && known > last && known < at ? known : at;
    else if (from !== undefined) {
      periods.push({ from, to: at, end: event.state === "deleted" ? "deleted" : "unlocked" });
      from = undefined;
    }
    last = at;
  }
  if (from === undefined && state === "locked") from = known ?? last;
  if (from !== undefined && Number.isFinite(from)) periods.push({ from, to: Math.max(until, from), end: "until now" });
  return periods;
}
