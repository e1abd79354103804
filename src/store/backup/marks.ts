import type { DatabaseSync } from "node:sqlite";
import { append } from "../journal/journal.ts";
import { all, one, run } from "../sqlite/query.ts";
import type { ExchangeRow } from "../steps/rows.ts";
import { lockSlots } from "../sqlite/vault-lock.ts";

/** Schema name under which the present state is attached while a backup is prepared, all in one transaction. */
export const present = "present";

/** What a person must know about a restored state. */
export interface RestoreCautions {
  /** Exchanges in doubt, because they may have been acknowledged since the backup was made. */
  inDoubt: number;
  /** Vaults of the backup whose pairs are all known to be superseded: nothing will be sent for them. */
  outdated: number;
  /** Vaults of the replaced state that the backup does not know. */
  leftBehind: number;
}

/**
 * Marks everything that may have changed since the backup was made. No pair is proven. An exchange at ② or held is in doubt,
 * because its end call may have been sent: the next start tries the new pair first, and no unseen read is acknowledged. An
 * exchange at ③ stays, with one more unanswered end call, so that an error about the token leaves it in doubt. Every vault lock
 * gets a new epoch, so that no former holder can write.
 */
export function markUnproven(db: DatabaseSync, at: string): void {
  run(db, "UPDATE credentials SET proven = 0, elsewhere = 1");
  run(db, "DELETE FROM meta WHERE name = 'file'");
  run(db, "UPDATE exchanges SET ends_unanswered = ends_unanswered + 1 WHERE state IN ('ending', 'in-doubt')");
  for (const row of all<ExchangeRow & Named>(
    db,
    `SELECT exchanges.*, service, uuid FROM ${exchangesOfVaults} WHERE state IN ('started', 'held')`,
  )) {
    const error = { at, code: "in-doubt", message: "restored from a backup; the exchange may have been acknowledged since" };
    run(db, "UPDATE exchanges SET state = 'in-doubt', ends_unanswered = ends_unanswered + 1 WHERE seq = ?", row.seq);
    const unlessLocked = "coalesce(last_error ->> 'code', '') NOT IN ('locked', 'gone')";
    run(db, `UPDATE vaults SET last_error = ? WHERE id = ? AND ${unlessLocked}`, JSON.stringify(error), row.vault);
    const detail = { from: row.state, endsUnanswered: row.ends_unanswered + 1, error: { code: error.code, message: error.message } };
    append(db, { at, service: row.service, uuid: row.uuid, exchange: row.id, event: "in-doubt", detail });
  }
  // Greater than any epoch: each lock adds one, this takes milliseconds.
  const epoch = Math.max(Date.parse(at), one<{ n: number | null }>(db, "SELECT max(epoch) AS n FROM locks")?.n ?? 0) + 1;
  const sql = "INSERT INTO locks (slot, epoch) VALUES (?, ?) ON CONFLICT (slot) DO UPDATE SET epoch = excluded.epoch";
  for (let slot = 0; slot < lockSlots; slot += 1) run(db, sql, slot, epoch);
  run(db, "DELETE FROM limiter");
}

/** Keeps what must not be lost with the present state: the higher counters, errors about locked vaults, the queue of the limiter. */
export function keepCounters(db: DatabaseSync): void {
  run(
    db,
    "INSERT INTO vaults (service, uuid, kind, forgotten) " +
      `SELECT service, uuid, kind, 1 FROM ${present}.vaults AS theirs WHERE NOT EXISTS (SELECT 1 FROM main.vaults AS ours WHERE ${same})`,
  );
  const theirs = (column: string): string => `(SELECT ${column} FROM ${present}.vaults AS theirs WHERE ${sameAs("vaults")})`;
  const failed = `max(failed_attempts, coalesce(${theirs("failed_attempts")}, 0))`;
  const certainly = `max(failed_attempts - possibly_failed, coalesce(${theirs("failed_attempts - possibly_failed")}, 0))`;
  run(
    db,
    `UPDATE vaults SET unacked_starts = max(unacked_starts, coalesce(${theirs("unacked_starts")}, 0)), ` +
      `failed_attempts = ${failed}, possibly_failed = ${failed} - ${certainly}`,
  );
  const locked = theirs("CASE WHEN last_error ->> 'code' IN ('locked', 'gone') THEN last_error END");
  run(db, `UPDATE vaults SET last_error = coalesce(${locked}, last_error)`);
  run(db, `INSERT OR REPLACE INTO limiter SELECT application, next, reserved_at FROM ${present}.limiter`);
}

/**
 * Keeps what the present state knows as superseded or refused, so that no such pair is sent (invariant 4), even if it is the
 * current one of the backup or the vault has moved to another service since. An exchange whose new pair is superseded ends: as
 * acknowledged if its old pair is superseded too, else as expired.
 */
export function keepSuperseded(db: DatabaseSync, at: string): void {
  for (const [table, columns] of [
    ["superseded", ["fingerprint"]],
    ["refusals", ["combination", "fingerprint"]],
  ] as const) {
    run(
      db,
      `INSERT OR IGNORE INTO ${table} (vault, ${columns.join(", ")}) ` +
        `SELECT ours.id, ${columns.map((column) => `learned.${column}`).join(", ")} FROM ${present}.${table} AS learned ` +
        `JOIN ${present}.vaults AS theirs ON theirs.id = learned.vault JOIN main.vaults AS ours ON ours.uuid = theirs.uuid`,
    );
  }
  const known =
    "EXISTS (SELECT 1 FROM superseded WHERE superseded.vault = credentials.vault AND superseded.fingerprint = credentials.fingerprint)";
  run(db, `UPDATE credentials SET standing = 'superseded' WHERE standing <> 'superseded' AND ${known}`);
  const isDead = (generation: string): string =>
    `(SELECT standing = 'superseded' FROM credentials AS pair WHERE pair.vault = exchanges.vault AND pair.generation = exchanges.${generation})`;
  const over = all<ExchangeRow & Named & { acknowledged: number }>(
    db,
    `SELECT exchanges.*, service, uuid, ${isDead("base_generation")} AS acknowledged FROM ${exchangesOfVaults} ` +
      `WHERE state IN ('ending', 'in-doubt') AND ${isDead("new_generation")}`,
  );
  for (const row of over) {
    const state = row.acknowledged === 1 ? "acknowledged" : "expired";
    run(db, "UPDATE exchanges SET state = ?, token = NULL WHERE seq = ?", state, row.seq);
    const detail = { from: row.state, reason: "the replaced state knows its new pair as superseded" };
    append(db, { at, service: row.service, uuid: row.uuid, exchange: row.id, event: state, detail });
  }
}

export function cautionsOf(db: DatabaseSync, hasPresent: boolean): RestoreCautions {
  const count = (sql: string): number => one<{ n: number }>(db, sql)?.n ?? 0;
  return {
    inDoubt: count("SELECT count(*) AS n FROM exchanges WHERE state = 'in-doubt'"),
    outdated: count(
      "SELECT count(*) AS n FROM vaults WHERE forgotten = 0 AND NOT EXISTS (SELECT 1 FROM credentials " +
        "WHERE vault = vaults.id AND standing IN ('current', 'imported', 'offered'))",
    ),
    leftBehind: hasPresent
      ? count(
          `SELECT count(*) AS n FROM ${present}.vaults AS theirs WHERE forgotten = 0 AND NOT EXISTS ` +
            `(SELECT 1 FROM main.vaults AS ours WHERE ours.forgotten = 0 AND ${same})`,
        )
      : 0,
  };
}

interface Named {
  seq: number;
  vault: number;
  service: string;
  uuid: string;
}

const exchangesOfVaults = "exchanges JOIN vaults ON vaults.id = exchanges.vault";
const sameAs = (table: string): string => `${table}.service = theirs.service AND ${table}.uuid = theirs.uuid`;
const same = sameAs("ours");
