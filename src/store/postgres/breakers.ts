import type { Breaker, Seen } from "../../exchange/breaker.ts";
import type { BreakerRow } from "../breakers.ts";
import { breakerColumns, breakerIn, breakerOf, valuesOf } from "../breakers.ts";
import type { Statement } from "../steps/changes.ts";
import type { Row } from "./connection.ts";
import { AnswerLost } from "./connection.ts";
import type { Database } from "./database.ts";

export const breakerInRow = (row: Row | undefined): Breaker =>
  breakerIn(row as BreakerRow | undefined);

/** Writes a breaker where it is still as it was read, and returns a row then. Whoever else changes it at the same time is waited for. */
function replacing(
  schema: string,
  service: string,
  before: Breaker,
  breaker: Breaker,
): Required<Statement> {
  const values = [service, ...valuesOf(breaker)];
  const marks = values.map((_, index) => `$${index + 1}`);
  const sql =
    before.version === 0
      ? `INSERT INTO ${schema}.breakers (service, ${breakerColumns.join(", ")}) VALUES (${marks.join(", ")}) ON CONFLICT DO NOTHING RETURNING 1 AS done`
      : `UPDATE ${schema}.breakers SET (${breakerColumns.join(", ")}) = ROW (${marks.slice(1).join(", ")})
          WHERE service = $1 AND version = ${before.version} RETURNING 1 AS done`;
  return { sql, values };
}

/** Claims the trial, if the start is one. Ends the transaction with `breakerChanged` if the breaker is not as it was seen. */
export function checkingBreaker(
  schema: string,
  service: string,
  { breaker, claim }: Seen,
): Statement {
  if (claim === null)
    return {
      sql: `SELECT sqrt(-(SELECT count(*) FROM ${schema}.breakers WHERE service = $1 AND lost_at IS NOT NULL))`,
      values: [service],
    };
  const { sql, values } = replacing(schema, service, breaker, claim);
  return {
    sql: `WITH claimed AS (${sql}) SELECT sqrt((SELECT count(*) FROM claimed) - 1)`,
    values,
  };
}

/** As `ServiceBreaker.change`: reads, and writes where nobody else was faster, else again. */
export async function changeBreaker(
  database: Database,
  schema: string,
  service: string,
  change: (breaker: Breaker) => Breaker,
): Promise<Breaker> {
  for (let tries = 20; ; tries -= 1) {
    try {
      const [row] = await database.query(breakerOf(`${schema}.`, service));
      const before = breakerInRow(row);
      const breaker = change(before);
      if (breaker === before) return before;
      const [done] = await database.query(replacing(schema, service, before, breaker));
      if (done !== undefined || tries <= 1) return breaker;
    } catch (error) {
      if (!(error instanceof AnswerLost) || tries <= 1) throw error;
    }
  }
}
