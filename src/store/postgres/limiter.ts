import type { Clock } from "../../exchange/ports.ts";
import type { Statement } from "../statement.ts";
import type { Database } from "./database.ts";
import type { DatabaseClock } from "./database-clock.ts";

/** A reservation that was made this far in the future, in milliseconds, shows that the clock was set back. */
const clockJump = 60_000;

const milliseconds = "(extract(epoch FROM clock_timestamp()) * 1000)::double precision";

/** From when on a slot will do: on the database's clock, or milliseconds after the statement has arrived there. */
type Moment = { at: number } | { aheadMs: number };

/** The moment as `$2`, in milliseconds on the database's clock. */
const sqlOf = (moment: Moment): string =>
  `($2::double precision${"at" in moment ? "" : ` + ${milliseconds}`})`;
const valueOf = (moment: Moment): number => ("at" in moment ? moment.at : moment.aheadMs);

/**
 * GCRA with burst 1, as in SQLite, in one statement that is not waited for to be durable. Returns the milliseconds from the moment to
 * the slot, and the slot and the time on the database's clock; no row for one that is more than `longestMs` away.
 */
function reserving(
  schema: string,
  application: string,
  from: Moment,
  intervalMs: number,
  longestMs: number,
): Statement {
  const now = 'excluded."reservedAt"';
  const slot = `greatest(${now}, CASE WHEN queue."reservedAt" > ${now} + ${clockJump} THEN ${now} ELSE queue.next END)`;
  const sql = `WITH quick AS (SELECT set_config('synchronous_commit', 'off', true) AS set)
    INSERT INTO ${schema}.limiter AS queue (application, next, "reservedAt")
    SELECT $1, now + $3::double precision, now FROM quick, (SELECT ${sqlOf(from)} AS now) AS moment WHERE set IS NOT NULL
    ON CONFLICT (application) DO UPDATE SET next = ${slot} + $3, "reservedAt" = ${now}
    WHERE $4::double precision IS NULL OR ${slot} - ${now} <= $4
    RETURNING next - $3 - "reservedAt" AS wait, next - $3 AS slot, ${milliseconds} AS said`;
  return {
    sql,
    values: [application, valueOf(from), intervalMs, Number.isFinite(longestMs) ? longestMs : null],
  };
}

/** Returns the milliseconds from the moment to the next slot. */
const nextSlot = (schema: string, application: string, from: Moment): Statement => ({
  sql: `SELECT next - ${sqlOf(from)} AS wait, next AS slot, ${milliseconds} AS said FROM ${schema}.limiter WHERE application = $1`,
  values: [application, valueOf(from)],
});

interface Wanted {
  application: string;
  /** From when on, by the clock of the machine. */
  now: number;
  intervalMs: number;
  longestMs: number;
}

/** Implements `Store.reserveSlot`. */
export async function reserve(
  { schema, database, clock }: { schema: string; database: Database; clock: Clock },
  time: Pick<DatabaseClock, "isKnown" | "latencyMs" | "note" | "now">,
  { application, now, intervalMs, longestMs }: Wanted,
): Promise<number> {
  const [aheadMs, sentAt] = [now - clock.now(), clock.elapsed()];
  // Before its first answer the database's clock is not known: what is asked arrives half a round trip later.
  const from: Moment = time.isKnown
    ? { at: time.now() + aheadMs }
    : { aheadMs: aheadMs - time.latencyMs() / 2 };
  const [taken] = await database.query(reserving(schema, application, from, intervalMs, longestMs));
  const [row] =
    taken === undefined ? await database.query(nextSlot(schema, application, from)) : [taken];
  const { wait, slot, said } = row as { wait: number; slot: number; said: number };
  // A process that waits long for the processor has a wrong idea of the time there, until an answer comes quickly.
  time.note(said, sentAt);
  const untilSlot = Math.max(0, "at" in from ? slot - (now + time.now() - clock.now()) : wait);
  // What is known of the clock there may just have changed: that must not make a slot seem reserved.
  return taken === undefined ? Math.max(untilSlot, longestMs + 1) : untilSlot;
}
