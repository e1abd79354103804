import type { Breaker, Seen } from "../exchange/breaker.ts";
import { closed } from "../exchange/breaker.ts";
import type { Put, Statement } from "./statement.ts";
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

/** SQL that writes a breaker if it is still as read and `from` has a row; returns a row then. */
export function replacing(
  prefix: string,
  service: string,
  before: Breaker,
  breaker: Breaker,
  from: string,
  put: Put,
): string {
  const marks = names.map((name) => put(breaker[name]));
  if (before.version === 0)
    return `INSERT INTO ${prefix}breakers (${columns.join(", ")}, service) SELECT ${marks.join(", ")}, ${put(service)} FROM ${from}
      WHERE true ON CONFLICT DO NOTHING RETURNING 1 AS done`;
  return `UPDATE ${prefix}breakers SET ${columns.map((column, n) => `${column} = ${marks[n]}`).join(", ")}
    WHERE service = ${put(service)} AND version = ${put(before.version)} AND EXISTS (SELECT 1 FROM ${from}) RETURNING 1 AS done`;
}

/**
 * In SQL, whether the breaker is as a start has seen it: open for the trial that it claims, or else
 * closed. `lock` keeps that row so until it is claimed.
 */
export const isAsSeen = (
  prefix: string,
  service: string,
  { breaker, claim }: Seen,
  put: Put,
  lock = "",
): string =>
  claim === null
    ? `NOT EXISTS (SELECT 1 FROM ${prefix}breakers WHERE service = ${put(service)} AND "lostAt" IS NOT NULL)`
    : `EXISTS (SELECT 1 FROM ${prefix}breakers WHERE service = ${put(service)} AND version = ${put(breaker.version)} ${lock})`;
