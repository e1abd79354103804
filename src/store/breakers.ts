import type { Breaker, Seen } from "../exchange/breaker.ts";
import { closed } from "../exchange/breaker.ts";
import type { Statement } from "./statement.ts";

/** The column of each fact. A service without a row never failed to answer a start. */
const columns = {
  version: "version",
  lostAt: "lost_at",
  lostTrials: "lost_trials",
  hint: "hint",
  httpStatus: "http_status",
  contentType: "content_type",
  closedAt: "closed_at",
} satisfies Record<keyof Breaker, string>;

const names = Object.keys(columns) as (keyof Breaker)[];
const all = names.map((name) => `${columns[name]} AS "${name}"`).join(", ");

export const allBreakers = (prefix: string): Statement => ({
  sql: `SELECT service, ${all} FROM ${prefix}breakers`,
});

export const breakerOf = (prefix: string, service: string): Statement => ({
  sql: `SELECT ${all} FROM ${prefix}breakers WHERE service = $1`,
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
  const mark = (_: unknown, index: number): string => `$${index + 2}`;
  const sql =
    before.version === 0
      ? `INSERT INTO ${prefix}breakers (service, ${Object.values(columns).join(", ")}) VALUES ($1, ${names.map(mark).join(", ")})
          ON CONFLICT DO NOTHING RETURNING 1 AS done`
      : `UPDATE ${prefix}breakers SET ${names.map((name, index) => `${columns[name]} = ${mark(name, index)}`).join(", ")}
          WHERE service = $1 AND version = ${before.version} RETURNING 1 AS done`;
  return { sql, values: [service, ...names.map((name) => breaker[name])] };
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
        sql: `SELECT 1 AS opened FROM ${prefix}breakers WHERE service = $1 AND lost_at IS NOT NULL`,
        values: [service],
        rows: 0,
      }
    : { ...replacing(prefix, service, breaker, claim), rows: 1 };
