import type { DatabaseSync } from "node:sqlite";
import type { Breaker, Seen } from "../../exchange/breaker.ts";
import { BreakerChanged } from "../../exchange/breaker.ts";
import type { BreakerRow } from "../breakers.ts";
import { breakerColumns, breakerIn, valuesOf } from "../breakers.ts";
import { all, one, run } from "./query.ts";

export const breakerOf = (db: DatabaseSync, service: string): Breaker =>
  breakerIn(one<BreakerRow>(db, "SELECT * FROM breakers WHERE service = ?", service));

export const allBreakers = (db: DatabaseSync): (Breaker & { service: string })[] =>
  all<BreakerRow>(db, "SELECT * FROM breakers ORDER BY service").map((row) => ({
    ...breakerIn(row),
    service: row.service,
  }));

/** Changes a breaker in the caller's transaction. */
export function changeBreaker(
  db: DatabaseSync,
  service: string,
  change: (breaker: Breaker) => Breaker,
): Breaker {
  const before = breakerOf(db, service);
  const breaker = change(before);
  if (breaker === before) return before;
  run(
    db,
    `INSERT OR REPLACE INTO breakers (service, ${breakerColumns.join(", ")}) VALUES (?${", ?".repeat(breakerColumns.length)})`,
    service,
    ...valuesOf(breaker),
  );
  return breaker;
}

/**
 * Claims the trial in the caller's transaction, if the start is one.
 * @throws BreakerChanged if the breaker is not as it was seen
 */
export function checkBreaker(db: DatabaseSync, service: string, { breaker, claim }: Seen): void {
  changeBreaker(db, service, (found) => {
    const isSame = claim === null ? found.lostAt === null : found.version === breaker.version;
    if (!isSame) throw new BreakerChanged("the circuit breaker has changed");
    return claim ?? found;
  });
}
