import type { Breaker, Seen } from "../exchange/breaker.ts";
import { closed } from "../exchange/breaker.ts";
import type { Statement } from "./statement.ts";
import { quoted } from "./statement.ts";

const names = Object.keys(closed) as (keyof Breaker)[];
const columns = names.map(quoted);

/** Those that ever opened: others only say whether their service answers probes. */
export const allBreakers = (prefix: string): Statement => ({
  sql: `SELECT * FROM ${prefix}breakers WHERE since > 0`,
});

export const breakerOf = (prefix: string, service: string): Statement => ({
  sql: `SELECT ${columns.join(", ")} FROM ${prefix}breakers WHERE service = $1`,
  values: [service],
});

/** What `breakerOf` returned. */
export const breakerIn = ([row]: readonly unknown[]): Breaker =>
  row === undefined ? closed : { ...(row as Breaker) };

/** Writes a breaker where it is still as it was read, and returns a row then. */
export function replacing(
  prefix: string,
  service: string,
  before: Breaker,
  breaker: Breaker,
): Required<Statement> {
  const marks = columns.map((_, index) => `$${index + 2}`);
  const values = [service, ...names.map((name) => breaker[name])];
  if (before.version === 0)
    return {
      sql: `INSERT INTO ${prefix}breakers (service, ${columns.join(", ")}) VALUES ($1, ${marks.join(", ")})
        ON CONFLICT DO NOTHING RETURNING 1 AS done`,
      values,
    };
  const changed = columns.map((column, index) => `${column} = ${marks[index]}`);
  return {
    sql: `UPDATE ${prefix}breakers SET ${changed.join(", ")}
      WHERE service = $1 AND version = $${columns.length + 2} RETURNING 1 AS done`,
    values: [...values, before.version],
  };
}

/**
 * Claims the trial, if the start is one. Returns as many rows as it says where the breaker is as it was seen, and else another number:
 * then the start must not go out.
 */
export const checkOf = (
  prefix: string,
  service: string,
  { breaker, claim }: Seen,
): Required<Statement> & { rows: number } =>
  claim === null
    ? {
        sql: `SELECT 1 AS opened FROM ${prefix}breakers WHERE service = $1 AND "lostAt" IS NOT NULL`,
        values: [service],
        rows: 0,
      }
    : { ...replacing(prefix, service, breaker, claim), rows: 1 };
