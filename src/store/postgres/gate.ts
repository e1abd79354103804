import { randomUUID } from "node:crypto";
import type { Row } from "./connection.ts";
import { AnswerLost, codeOf, gateClosed, isLocked } from "./connection.ts";
import type { Database } from "./database.ts";
import type { Statement } from "../statement.ts";
import type { Actor, Holder } from "../../actor.ts";
import type { Lock } from "../state.ts";
import { busy, waitForLock } from "../wait-for-lock.ts";
import type { WholeOperation } from "../whole/whole.ts";
import { defined } from "../../defined.ts";
import type { VaultError } from "../../errors.ts";
import type { Clock, Waiting } from "../../exchange/ports.ts";

/**
 * The gate of a shared state. An operation on the whole of it closes the gate, so that nobody begins
 * anything, waits for who holds a vault, and then does everything in one transaction that has the row of the gate locked. A gate
 * that was closed ends by itself; the transaction does not end before it is committed or gone.
 */
interface GatePlace {
  schema: string;
  clock: Clock;
  by: Actor;
  database: Pick<Database, "converse" | "query">;
}

/** How far ahead a gate is closed: for the way into the transaction, which needs it no more. Others wait that long for one that died. */
const closedMs = 5000;

/**
 * Of a lease, or of a gate that is closed: it has not ended. One that begins in the future is void: the database's clock was set
 * back since.
 */
export const isAlive = (row = ""): string =>
  `(${row}"endsAt" > clock_timestamp() AND ${row}since <= clock_timestamp())`;

/** Of the row of a gate that nobody has closed. */
export const isOpen = `NOT ${isAlive()}`;

/** How long a writer without a lease waits for the gate, in milliseconds. */
const patienceMs = 10_000;

/**
 * What a writer without a lease puts in front of its statements: fails with `gateClosed`, or as `isLocked`, while the gate is
 * closed, and where the state is not used any more. Keeps operations on the whole state out until the transaction ends.
 */
export const passGate = (schema: string): Statement => ({
  sql: `WITH gate AS (SELECT FROM ${schema}.state WHERE ${isOpen} AND usable FOR KEY SHARE NOWAIT) SELECT ln((SELECT count(*) FROM gate))`,
});

/** Who has closed the gate, or is behind it. Does not wait. */
export const atGate = (schema: string): Statement => ({
  sql: `SELECT operation, holder, since, usable FROM ${schema}.state WHERE token IS NOT NULL OR NOT usable`,
});

/** The error for whoever finds the gate closed. */
export function busyAtGate(row: Row = {}): VaultError {
  const who = holderIn(row);
  const doing = `changing the whole state (vault state ${String(row["operation"])})`;
  return busy(undefined, who, who && doing);
}

/**
 * Runs statements in one transaction that keeps operations on the whole state out, when the gate is open. `isMoved` rejects for a
 * state that is not used any more.
 * @throws as `Database.transact`, and `busy`
 */
export async function transactAtGate(
  {
    schema,
    clock,
    database,
  }: {
    schema: string;
    clock: Pick<Clock, "elapsed" | "sleep">;
    database: Pick<Database, "query" | "transact">;
  },
  statements: readonly Statement[],
  isMoved?: () => Promise<unknown>,
): Promise<Row[][]> {
  for (const until = clock.elapsed() + patienceMs; ;) {
    try {
      return (await database.transact([passGate(schema), ...statements])).slice(1);
    } catch (error) {
      if (codeOf(error) !== gateClosed && !isLocked(error)) throw error;
      const [row] = await database.query(atGate(schema));
      if (row?.["usable"] === false) await isMoved?.();
      if (clock.elapsed() > until) throw busyAtGate(row);
      await clock.sleep(250);
    }
  }
}

/**
 * Does the work in the one transaction of an operation on the whole state. If it throws, nothing is changed.
 * @throws `busy` at the deadline, with who is in the way; `interrupted` when aborted; what the work throws
 */
export async function transactWhole<T>(
  place: GatePlace,
  operation: WholeOperation,
  waiting: Waiting,
  work: (query: (statement: Statement) => Promise<Row[]>) => Promise<T>,
): Promise<T> {
  const { schema, clock, database, by } = place;
  const token = randomUUID();
  const values = [token, operation, JSON.stringify(by)];
  const close: Statement = {
    sql: `WITH gate AS (SELECT FROM ${schema}.state WHERE ${isOpen} OR token = $1 FOR NO KEY UPDATE NOWAIT)
      UPDATE ${schema}.state SET token = $1, operation = $2, holder = $3, "endsAt" = clock_timestamp() + interval '${closedMs} milliseconds',
        since = CASE WHEN token = $1 THEN since ELSE clock_timestamp() END
      FROM gate RETURNING 1 AS closed`,
    values,
  };
  const open = `UPDATE ${schema}.state SET token = NULL, operation = NULL, holder = NULL, "endsAt" = '-infinity' WHERE token = $1`;
  let obstacle = busy(undefined);
  const closed = async (): Promise<boolean> => {
    try {
      if ((await database.query(close)).length > 0) return true;
    } catch (error) {
      if (!isLocked(error)) throw error;
    }
    obstacle = busyAtGate((await database.query(atGate(schema)))[0]);
    return false;
  };
  const attempt = async (): Promise<{ result: T } | null> => {
    if (!(await closed())) return null;
    const [lease] = await database.query(holders(schema));
    const done =
      lease === undefined ? await behindGate(place, token, { operation, open }, work) : { lease };
    if ("result" in done) return done;
    const who = done.lease && holderIn(done.lease);
    if (who !== undefined) waiting.tell?.(who);
    obstacle = busy(done.lease?.["uuid"] as string | undefined, who);
    return null;
  };
  try {
    return (await waitForLock(clock, waiting, undefined, attempt, () => obstacle)).result;
  } catch (error) {
    // The gate ends by itself where that fails.
    await database.query({ sql: open, values: [token] }).catch(() => undefined);
    throw error;
  }
}

/** Whoever holds a vault, if somebody has taken a lease before the gate was closed; nobody, if somebody else has closed it since. */
async function behindGate<T>(
  { schema, database }: GatePlace,
  token: string,
  { operation, open }: { operation: string; open: string },
  work: (query: (statement: Statement) => Promise<Row[]>) => Promise<T>,
): Promise<{ result: T } | { lease: Row | undefined }> {
  let done: { result: T } | null = null;
  try {
    return await database.converse("READ COMMITTED", async (query) => {
      await query({ sql: settings });
      const [own] = await query({
        sql: `SELECT 1 AS own FROM ${schema}.state WHERE token = $1 FOR UPDATE`,
        values: [token],
      });
      if (own === undefined) throw new TakenOver(undefined);
      // A statement of its own: one that waited for the row sees what was there before.
      const [lease] = await query(holders(schema));
      if (lease !== undefined) throw new TakenOver(lease);
      await query({
        sql: `UPDATE ${schema}.leases SET epoch = gen_random_uuid(), holder = NULL, "endsAt" = '-infinity'`,
      });
      const result = await work(query);
      await query({ sql: open, values: [token] });
      await query({
        sql: `UPDATE ${schema}.state SET done = jsonb_build_object('token', $1::text, 'operation', $2::text)`,
        values: [token, operation],
      });
      return (done = { result });
    });
  } catch (error) {
    if (error instanceof TakenOver) return { lease: error.lease };
    if (done !== null && error instanceof AnswerLost && (await isDone(schema, database, token)))
      return done;
    throw error;
  }
}

/** Whether the transaction was committed. Waits for its end: a plain query sees the row as it was before. */
async function isDone(
  schema: string,
  database: GatePlace["database"],
  token: string,
): Promise<boolean> {
  const sql = `SELECT done ->> 'token' AS done FROM ${schema}.state FOR UPDATE`;
  return await database.converse(
    "READ COMMITTED",
    async (query) => (await query({ sql }))[0]?.["done"] === token,
  );
}

/** Somebody came through before the gate was closed, or has closed it since: nothing was changed. */
class TakenOver extends Error {
  readonly lease: Row | undefined;

  constructor(lease: Row | undefined) {
    super("somebody else was faster");
    this.lease = lease;
  }
}

/** What a transaction of any length needs of the server, whatever a role or a database may have set. */
const settings = `SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true),
  set_config('idle_in_transaction_session_timeout', '30s', true), set_config('tcp_user_timeout', '30s', true)`;

/** The leases that have not ended. */
export const holders = (schema: string): Statement => ({
  sql: `SELECT uuid, holder, since, "endsAt" FROM ${schema}.leases WHERE ${isAlive()} ORDER BY since, uuid`,
});

/** A row of `holders`. */
export function lockIn(row: Row): Lock {
  const { uuid, holder, since, endsAt } = row as {
    uuid: string;
    holder: string;
    since: Date;
    endsAt: Date;
  };
  const { host, pid, user, role } = JSON.parse(holder) as Actor;
  return {
    uuid,
    holder: { host, pid, user, ...defined({ role }) },
    since: since.toISOString(),
    endsAt: endsAt.toISOString(),
  };
}

/** Who keeps others from a vault. */
export const leaseOf = (schema: string, uuid: string): Statement => ({
  sql: `SELECT * FROM (${holders(schema).sql}) AS of_vaults WHERE uuid = $1`,
  values: [uuid],
});

/** Undefined for a lease that was given back meanwhile. */
export function holderIn({ holder, since }: Row): Holder | undefined {
  if (typeof holder !== "string" || !(since instanceof Date)) return undefined;
  return { by: JSON.parse(holder) as Actor, since: since.toISOString() };
}
