import type { Statement } from "./connection.ts";

/** A reservation that was made this far in the future, in milliseconds, shows that the clock was set back. */
const clockJump = 60_000;

/**
 * GCRA with burst 1, as in SQLite, in one statement that is not waited for to be durable. Times are milliseconds on the database's
 * clock; no row is returned for a slot that is more than `longestMs` away.
 */
export function reserving(schema: string, application: string, now: number, intervalMs: number, longestMs: number): Statement {
  const slot = `greatest($2, CASE WHEN held.reserved_at > $2 + ${clockJump} THEN $2 ELSE held.next END)`;
  const sql = `WITH quick AS (SELECT set_config('synchronous_commit', 'off', true) AS set)
    INSERT INTO ${schema}.limiter AS held (application, next, reserved_at)
    SELECT $1, $2::double precision + $3::double precision, $2 FROM quick WHERE set IS NOT NULL
    ON CONFLICT (application) DO UPDATE SET next = ${slot} + $3, reserved_at = $2
    WHERE $4::double precision IS NULL OR ${slot} - $2 <= $4
    RETURNING next - $3 AS slot`;
  return { sql, values: [application, now, intervalMs, Number.isFinite(longestMs) ? longestMs : null] };
}

export const nextSlot = (schema: string, application: string): Statement => ({
  sql: `SELECT next AS slot FROM ${schema}.limiter WHERE application = $1`,
  values: [application],
});
