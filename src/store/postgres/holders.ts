import type { Holder, Lock } from "../state.ts";
import type { Statement } from "../statement.ts";
import type { Row } from "./connection.ts";

/** Of a lease: it has not ended. One that begins in the future is void: the database's clock was set back since. */
export const isAlive = (row = ""): string =>
  `(${row}ends_at > clock_timestamp() AND ${row}since <= clock_timestamp())`;

/** The leases that have not ended. */
export const holders = (schema: string): Statement => ({
  sql: `SELECT uuid, holder, since, ends_at FROM ${schema}.leases WHERE ${isAlive()} ORDER BY since, uuid`,
});

/** A row of `holders`. */
export function lockIn(row: Row): Lock {
  const {
    uuid,
    holder,
    since,
    ends_at: end,
  } = row as { uuid: string; holder: string; since: Date; ends_at: Date };
  const { host, pid, user } = JSON.parse(holder) as Holder;
  return {
    uuid,
    holder: { host, pid, user },
    since: since.toISOString(),
    endsAt: end.toISOString(),
  };
}

/** Who keeps others from a vault. */
export const heldBy = (schema: string, uuid: string): Statement => ({
  sql: `SELECT * FROM (${holders(schema).sql}) AS of_vaults WHERE uuid = $1`,
  values: [uuid],
});

/** Who holds a vault, in words; undefined for a lease that was given back meanwhile. */
export function holderIn({ holder, since }: Row): string | undefined {
  if (typeof holder !== "string" || !(since instanceof Date)) return undefined;
  const { host, pid, user } = JSON.parse(holder) as Holder;
  return `${user} on ${host} (process ${pid}), since ${since.toISOString()},`;
}
