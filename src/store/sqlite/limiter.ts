import type { DatabaseSync } from "node:sqlite";
import { one, run } from "./query.ts";

/** A stored reservation that lies further ahead than this was made before the clock was set back. */
const clockJump = 60_000;

/**
 * GCRA with burst 1: the next free slot is one interval after the last one given out, or now. Returns the milliseconds
 * until it; one further away than `longestMs` is left to others. A queue may grow longer than any clock jump, so it is the
 * time of the last reservation that tells one.
 */
export function reserveSlot(
  db: DatabaseSync,
  application: string,
  now: number,
  intervalMs: number,
  longestMs = Number.POSITIVE_INFINITY,
): number {
  const stored = one<{ next: number; reserved_at: number }>(db, "SELECT next, reserved_at FROM limiter WHERE application = ?", application);
  const next = stored === undefined || stored.reserved_at > now + clockJump ? now : stored.next;
  const slot = Math.max(now, next);
  if (slot - now > longestMs) return slot - now;
  run(
    db,
    "INSERT INTO limiter (application, next, reserved_at) VALUES (?, ?, ?) " +
      "ON CONFLICT (application) DO UPDATE SET next = excluded.next, reserved_at = excluded.reserved_at",
    application,
    slot + intervalMs,
    now,
  );
  return slot - now;
}
