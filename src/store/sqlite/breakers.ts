import type { DatabaseSync } from "node:sqlite";
import type { Breaker, Seen } from "../../exchange/breaker.ts";
import { BreakerChanged } from "../../exchange/breaker.ts";
import type { BreakerRow } from "../breakers.ts";
import { breakerColumns, breakerIn, breakerOf, valuesOf } from "../breakers.ts";
import { rowsIn, run } from "./query.ts";

export const breakerNow = (db: DatabaseSync, service: string): Breaker =>
  breakerIn(rowsIn<BreakerRow>(db, breakerOf("", service))[0]);

/** Changes a breaker in the caller's transaction. */
export function changeBreaker(
  db: DatabaseSync,
  service: string,
  change: (breaker: Breaker) => Breaker,
): Breaker {
  const before = breakerNow(db, service);
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
