import type { Statement } from "../statement.ts";
import { place } from "./schema.ts";

/** The time of the database, as the columns have it. */
const timestamp = `to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * Marks everything that may have changed since what the database now holds was written: no pair is proven, and an exchange may have been
 * acknowledged. One whose token lives stays what it is, for the service to be asked by its end call; else it is in doubt. `why` is for
 * the journal.
 */
export function setBack(schema: string, why: string): Statement[] {
  const error = JSON.stringify({
    code: "in-doubt",
    message: `${why}; the exchange may have been acknowledged since`,
  });
  return [
    {
      sql: `UPDATE ${schema}.credentials SET proven = 0, elsewhere = 1 WHERE proven <> 0 OR elsewhere <> 1`,
    },
    {
      sql: `UPDATE ${schema}.exchanges SET ends_unanswered = ends_unanswered + 1 WHERE state IN ('started', 'held', 'ending', 'in-doubt')`,
    },
    {
      sql: `WITH left_open AS (
          UPDATE ${schema}.exchanges AS now SET state = 'in-doubt'
          FROM ${schema}.exchanges AS former
          WHERE former.vault = now.vault AND former.seq = now.seq AND now.state IN ('started', 'held')
            AND now.token_expiry <= ${timestamp}
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
    setBackNow(schema),
  ];
}

/** Records that something may have been lost: the machines offer what they have kept. */
export const setBackNow = (schema: string): Statement => ({
  sql: `INSERT INTO ${schema}.meta VALUES ('set-back', ${timestamp}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
});

/** Makes this database the one that holds the state, whatever it was copied from; at least as often as has been `seen`. */
export const reborn = (schema: string, seen = 0): Statement[] => [
  {
    sql: `UPDATE ${schema}.identity SET born = pg_current_xact_id(), system = ${place.system}, database = ${place.database},
      claims = greatest(claims, $1) + 1`,
    values: [seen],
  },
  { sql: `UPDATE ${schema}.meta SET value = ${place.timeline} WHERE name = 'timeline'` },
];

/** Goes on only if the timeline of the server is on record as `noted`, and records the present one; a division by zero ends the rest. */
export const changeTimeline = (schema: string, noted: string, timeline: string): Statement => ({
  sql: `WITH changed AS (UPDATE ${schema}.meta SET value = $2 WHERE name = 'timeline' AND value = $1 RETURNING 1)
    SELECT 1 / (SELECT count(*) FROM changed)`,
  values: [noted, timeline],
});
