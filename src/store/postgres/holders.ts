import type { Row, Statement } from "./connection.ts";

/** Who holds a vault: what `vault state locks` shows. */
export interface Holder {
  host: string;
  pid: number;
  user: string;
}

/** A vault that is in use; times in ISO 8601. */
export interface Lock {
  uuid: string;
  holder: Holder;
  since: string;
  endsAt: string;
}

/** In place of a vault's uuid: the lease of the whole state, which nobody takes while somebody holds a vault, and the other way round. */
export const whole = "";

/** The leases of vaults that have not ended. */
export const holders = (schema: string): Statement => ({
  sql: `SELECT uuid, holder, since, ends_at FROM ${schema}.leases
    WHERE uuid <> '${whole}' AND ends_at > clock_timestamp() ORDER BY since, uuid`,
});

/** A row of `holders`. */
export function lockIn(row: Row): Lock {
  const { uuid, holder, since, ends_at: end } = row as { uuid: string; holder: string; since: Date; ends_at: Date };
  const { host, pid, user } = JSON.parse(holder) as Holder;
  return { uuid, holder: { host, pid, user }, since: since.toISOString(), endsAt: end.toISOString() };
}

/** Who keeps others from a vault, or from the whole state. */
export const heldBy = (schema: string, uuid = whole): Statement => ({
  sql: `SELECT * FROM (${holders(schema).sql}) AS of_vaults WHERE $1 = '${whole}' OR uuid = $1
    UNION ALL SELECT uuid, holder, since, ends_at FROM ${schema}.leases WHERE $1 <> '${whole}' AND uuid = '${whole}' AND ends_at > clock_timestamp()
    LIMIT 1`,
  values: [uuid],
});

/** Who holds a vault, in words; undefined for a lease that was given back meanwhile. */
export function holderIn({ holder, since }: Row): string | undefined {
  if (typeof holder !== "string" || !(since instanceof Date)) return undefined;
  const { host, pid, user } = JSON.parse(holder) as Holder;
  return `${user} on ${host} (process ${pid}), since ${since.toISOString()},`;
}
