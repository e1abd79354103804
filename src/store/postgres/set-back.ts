import type { Statement } from "./connection.ts";

/** The time of the database, as the columns have it. */
export const timestamp = `to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * Marks everything that may have changed since what the database now holds was written, as a restore does (backup/marks.ts): no pair is
 * proven, and an exchange may have been acknowledged. `why` is for the journal.
 */
export function setBack(schema: string, why: string): Statement[] {
  const error = JSON.stringify({ code: "in-doubt", message: `${why}; the exchange may have been acknowledged since` });
  return [
    { sql: `UPDATE ${schema}.credentials SET proven = 0, elsewhere = 1 WHERE proven <> 0 OR elsewhere <> 1` },
    { sql: `UPDATE ${schema}.exchanges SET ends_unanswered = ends_unanswered + 1 WHERE state IN ('ending', 'in-doubt')` },
    {
      sql: `WITH left_open AS (
          UPDATE ${schema}.exchanges AS now SET state = 'in-doubt', ends_unanswered = now.ends_unanswered + 1
          FROM ${schema}.exchanges AS former
          WHERE former.vault = now.vault AND former.seq = now.seq AND now.state IN ('started', 'held')
          RETURNING now.vault, now.id AS exchange, former.state AS "from", now.ends_unanswered AS "endsUnanswered"
        ), told AS (
          UPDATE ${schema}.vaults SET last_error = ($1::jsonb || jsonb_build_object('at', ${timestamp}))::text
          WHERE id IN (SELECT vault FROM left_open) AND coalesce(last_error::jsonb ->> 'code', '') NOT IN ('locked', 'gone')
        )
        INSERT INTO ${schema}.journal (at, service, uuid, exchange, event, detail)
        SELECT ${timestamp}, service, uuid, exchange, 'in-doubt',
          jsonb_build_object('from', "from", 'endsUnanswered', "endsUnanswered", 'error', $1::jsonb)::text
        FROM left_open JOIN ${schema}.vaults ON vaults.id = vault`,
      values: [error],
    },
    {
      sql: `INSERT INTO ${schema}.meta VALUES ('set-back', ${timestamp}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    },
  ];
}

/** Goes on only if the timeline of the server is on record as `noted`, and records the present one; a division by zero ends the rest. */
export const changeTimeline = (schema: string, noted: string, timeline: string): Statement => ({
  sql: `WITH changed AS (UPDATE ${schema}.meta SET value = $2 WHERE name = 'timeline' AND value = $1 RETURNING 1)
    SELECT 1 / (SELECT count(*) FROM changed)`,
  values: [noted, timeline],
});
