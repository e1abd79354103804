import { randomUUID } from "node:crypto";
import type { Actor } from "../../actor.ts";
import type { VaultError } from "../../errors.ts";
import type { Clock, Waiting } from "../../exchange/ports.ts";
import type { Lock } from "../../documents/state.ts";
import type { Statement } from "../tables.ts";
import { busy, waitForLock } from "../vault-session.ts";
import type { Database, Query, Row } from "./database.ts";
import { isLocked } from "./errors.ts";

/** How long a lease lasts once taken or renewed, and a gate once closed, in milliseconds. */
export const leaseMs = 15_000;
const closedMs = 30_000;

/** By how much, in ms, a server's clock may be set back without voiding a lease or a gate. */
const slackMs = 1000;

/** Milliseconds that the operation waits for tables, then for others; and a leaseless writer. */
const lockMs = 2000;
const patienceMs = 10_000;

/** And whoever takes a vault, closes the gate, or prunes, before it comes back. */
export const takingMs = 300;

export const ahead = (ms: number): string => `clock_timestamp() + interval '${ms} milliseconds'`;

/** Whether an end is to come. One too far ahead is void: the database's clock was set back. */
const isToCome = (end: string, longestMs: number): string =>
  `(${end} > clock_timestamp() AND ${end} <= ${ahead(longestMs + slackMs)}) IS TRUE`;

/** Of the row of a vault: somebody holds it. */
export const isAlive = (row = ""): string => isToCome(`${row}ends_at`, leaseMs);

/** Of the row `closing` of `meta`: the gate is closed. */
const isClosed = (row = ""): string =>
  isToCome(`(${row}value::jsonb ->> 'until')::timestamptz`, closedMs);

/** Whether a vault may be taken in a state: that is used, and its gate is open. */
export const isOpen = (schema: string): string => `NOT EXISTS (SELECT FROM ${schema}.meta
  WHERE name IN ('fence', 'moved') OR CASE name WHEN 'closing' THEN ${isClosed()} END)`;

/** The error for whoever finds the gate closed, or a table locked behind it. */
export const busyAtGate = (): VaultError => busy({}, "changing the whole state");

/**
 * Runs statements of a writer without a lease in one transaction; returns the rows of the first.
 * @throws as `Database.transact`, and `busy` during an operation on the whole state
 */
export async function transactAtGate(
  database: Pick<Database, "transact">,
  statements: readonly Statement[],
): Promise<Row[]> {
  try {
    return (await database.transact(statements, patienceMs))[0] ?? [];
  } catch (error) {
    throw isLocked(error) ? busyAtGate() : error;
  }
}

/** Undefined if a row or a table that it needs is locked, for what may be left undone then. */
export const unlessLocked = async <T>(work: Promise<T>): Promise<T | undefined> =>
  await work.catch((error: unknown) => {
    if (!isLocked(error)) throw error;
    return undefined;
  });

/**
 * Does the work of an operation on the whole state, wholly or not at all: closes the gate
 * (`closing` in `meta`), so that nobody takes a vault, waits for who holds one, then does it in one
 * transaction with the tables locked. A closed gate ends by itself; that only by commit or loss.
 * @throws {AnswerLost} if it may have been done: the operation can be run again
 * @throws `busy` at the deadline, with the holder; `interrupted` when aborted; what the work throws
 */
export async function transactWhole<T>(
  place: { schema: string; clock: Clock; database: Pick<Database, "converse" | "transact"> },
  waiting: Waiting,
  work: (query: Query) => Promise<T>,
): Promise<T> {
  const { schema, clock, database } = place;
  const token = randomUUID();
  const close: Statement = {
    sql: `INSERT INTO ${schema}.meta AS gate
      VALUES ('closing', jsonb_build_object('token', $1::text, 'until', ${ahead(closedMs)})::text)
      ON CONFLICT (name) DO UPDATE SET value = excluded.value
      WHERE NOT ${isClosed("gate.")} OR gate.value::jsonb ->> 'token' = $1 RETURNING 1 AS closed`,
    values: [token],
  };
  const open: Statement = {
    sql: `DELETE FROM ${schema}.meta WHERE CASE name WHEN 'closing' THEN value::jsonb ->> 'token' = $1 END`,
    values: [token],
  };
  const attempt = async (): Promise<{ result: T } | VaultError> => {
    const closing = await unlessLocked(database.transact([close], takingMs));
    if (closing?.[0]?.length !== 1) return busyAtGate();
    let isWaiting = true;
    try {
      return await database.converse("READ COMMITTED", async (query) => {
        await query({ sql: settings });
        // Waits for writers of vaults, marks, journal; keeps them out until it ends. Reading goes on.
        await query({
          sql: `LOCK TABLE ${schema}.vaults, ${schema}.meta, ${schema}.journal IN EXCLUSIVE MODE`,
        });
        isWaiting = false;
        // A statement of its own: one that waited for the lock sees what was there before.
        const [lease] = await query(holders(schema));
        if (lease !== undefined) return busy(lockIn(lease));
        await query({
          sql: `UPDATE ${schema}.vaults SET epoch = NULL, holder = NULL, ends_at = NULL WHERE holder IS NOT NULL;
            DELETE FROM ${schema}.vaults WHERE status = 'absent'`,
        });
        const result = await work(query);
        await query(open);
        return { result };
      });
    } catch (error) {
      if (!isWaiting || !isLocked(error)) throw error;
    }
    // The tables stayed locked. It is the turn of others.
    await clock.sleep(lockMs, waiting.signal);
    return busy({});
  };
  try {
    return (await waitForLock(clock, waiting, undefined, attempt)).result;
  } catch (error) {
    // The gate ends by itself if that fails.
    await database.transact([open], takingMs).catch(() => undefined);
    throw error;
  }
}

/** What a transaction of any length needs of the server, whatever a role or a database has set. */
const settings = `SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '${lockMs}', true),
  set_config('idle_in_transaction_session_timeout', '30s', true), set_config('tcp_user_timeout', '30s', true),
  set_config('tcp_keepalives_idle', '10', true), set_config('tcp_keepalives_interval', '5', true)`;

export const holders = (schema: string): Statement => ({
  sql: `SELECT service, uuid, holder, since, ends_at AS "endsAt" FROM ${schema}.vaults WHERE ${isAlive()} ORDER BY since, uuid`,
});

/** A row of `holders`. */
export const lockIn = (row: Row): Lock => ({
  uuid: row["uuid"] as string,
  holder: JSON.parse(row["holder"] as string) as Actor,
  since: (row["since"] as Date).toISOString(),
  endsAt: (row["endsAt"] as Date).toISOString(),
});
