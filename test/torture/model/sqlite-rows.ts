import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Clock, VaultSession } from "../../../src/exchange/ports.ts";
import { all, one, run } from "../../../src/store/sqlite/query.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import type { CredentialsRow, ExchangeRow, VaultRow } from "../../../src/store/steps/rows.ts";
import { memoryFolder } from "../../support/campaign.ts";
import { service, uuid } from "./real-pairs.ts";
import type { BreakerTimes, RealRows, Row } from "./real-rows.ts";

const tables = ["credentials", "exchanges", "superseded", "refusals"] as const;

export async function openSqliteRows(clock: Clock, key: string): Promise<RealRows> {
  const directory = mkdtempSync(join(memoryFolder, "vault-model-"));
  const store = openStore({
    directory,
    keySource: { type: "given", key },
    clock,
    platform: "linux",
    warn: () => undefined,
  });
  const lock = async (): Promise<VaultSession> =>
    await store.lock(service, uuid, {
      deadline: clock.now() + 60_000,
      signal: new AbortController().signal,
    });
  let session = await lock();
  const db = new DatabaseSync(join(directory, "vault.db"));
  db.exec("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF");
  /** Of the only vault. */
  const vault = "(SELECT id FROM vaults)";
  const insert = (table: string, row: Row): void => {
    const columns = Object.keys(row);
    const sql = `INSERT INTO ${table} (vault, ${columns.join(", ")}) VALUES (${vault}, ${columns.map(() => "?").join(", ")})`;
    run(db, sql, ...Object.values(row));
  };
  return {
    get session() {
      return session;
    },
    get breaker() {
      return store.breaker(service);
    },
    write: async (rows) => {
      // A session knows the rows as they were when it began.
      await session.release();
      db.exec("BEGIN IMMEDIATE");
      for (const table of tables) run(db, `DELETE FROM ${table}`);
      const assigned = Object.keys(rows.vault).map((column) => `${column} = ?`);
      run(db, `UPDATE vaults SET ${assigned.join(", ")}`, ...Object.values(rows.vault));
      run(db, "DELETE FROM breakers");
      const { lostAt, closedAt, hint } = rows.breaker;
      run(
        db,
        "INSERT INTO breakers VALUES (?, 1, ?, 0, ?, NULL, NULL, ?)",
        service,
        lostAt,
        hint,
        closedAt,
      );
      for (const table of tables) for (const row of rows[table]) insert(table, row);
      db.exec("COMMIT");
      session = await lock();
    },
    read: async () =>
      Promise.resolve({
        vault: one<VaultRow>(db, "SELECT * FROM vaults") as VaultRow,
        credentials: all<CredentialsRow>(
          db,
          "SELECT * FROM credentials WHERE sealed IS NOT NULL ORDER BY generation",
        ),
        exchanges: all<ExchangeRow>(db, "SELECT * FROM exchanges ORDER BY seq"),
        refusals: all<{ combination: string }>(db, "SELECT combination FROM refusals"),
        breaker: one<BreakerTimes>(
          db,
          "SELECT lost_at AS lostAt, closed_at AS closedAt, hint FROM breakers",
        ) as BreakerTimes,
      }),
    close: async () => {
      await session.release();
      db.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
