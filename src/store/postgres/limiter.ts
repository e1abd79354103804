import type { Statement } from "../statement.ts";

/** A reservation that was made this far in the future, in milliseconds, shows that the clock was set back. */
const clockJump = 60_000;

interface Wanted {
  application: string;
  /** As for `Store.reserveSlot`. */
  aheadMs: number;
  intervalMs: number;
  longestMs: number;
}

/**
 * GCRA with burst 1, as in SQLite, on the database's clock, in one statement that is not waited for to be durable. Returns the
 * milliseconds from the wanted moment to the slot, or, where that is too far away, to the next one that is free.
 */
export function reserving(schema: string, wanted: Wanted): Statement {
  const { application, aheadMs, intervalMs, longestMs } = wanted;
  const now = 'excluded."reservedAt"';
  const slot = `greatest(${now}, CASE WHEN queue."reservedAt" > ${now} + ${clockJump} THEN ${now} ELSE queue.next END)`;
  return {
    sql: `WITH moment AS (
        SELECT extract(epoch FROM clock_timestamp())::double precision * 1000 + $2 AS at, set_config('synchronous_commit', 'off', true)
      ), taken AS (
        INSERT INTO ${schema}.limiter AS queue (application, next, "reservedAt")
        SELECT $1, at + $3::double precision, at FROM moment
        ON CONFLICT (application) DO UPDATE SET next = ${slot} + $3, "reservedAt" = ${now}
        WHERE $4::double precision IS NULL OR ${slot} - ${now} <= $4
        RETURNING next - $3 - "reservedAt" AS wait
      )
      SELECT wait FROM taken
      UNION ALL SELECT next - at FROM ${schema}.limiter, moment WHERE application = $1 AND NOT EXISTS (SELECT FROM taken)`,
    values: [application, aheadMs, intervalMs, Number.isFinite(longestMs) ? longestMs : null],
  };
}
