import type { Address } from "./address.ts";
import type { Connection } from "./connection.ts";
import { cannotBeUsed } from "./connection.ts";
import { oldestVersion, schemaVersion } from "./schema.ts";

/** What the database says of itself and of the state in it. */
interface About {
  /** Milliseconds since the epoch, by the database's clock. */
  now: number;
  /** Id of the state. */
  state: string;
  /** Id of the key that seals it. */
  keyId: string;
}

/** @throws `state` for a server that loses what it commits or cannot write, and for another version of the state */
export async function readAbout(connection: Connection, address: Address): Promise<About> {
  const [row] = await connection.query({
    sql: `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::double precision AS now, current_setting('fsync') AS fsync,
      pg_is_in_recovery() AS standby, (SELECT jsonb_object_agg(name, value) FROM ${address.schema}.meta) AS meta`,
  });
  const { now, fsync, standby, meta } = row as { now: number; fsync: string; standby: boolean; meta: Record<string, string> };
  if (standby) throw cannotBeUsed(address, "the server is a read-only standby");
  if (fsync !== "on" && !address.isDurableAssumed) {
    const why = "the server loses what it has committed when it stops (fsync=off)";
    throw cannotBeUsed(address, why, "set fsync=on there; or, for a test: durable=assumed in the address");
  }
  if (Number(meta["oldest"]) > schemaVersion) {
    throw cannotBeUsed(address, `it is of a newer version (${meta["version"]}; this program reads up to ${schemaVersion})`, "update vault");
  }
  if (Number(meta["version"]) < oldestVersion) throw cannotBeUsed(address, "it is of an older version", "vault state init");
  return { now, state: meta["state"] ?? "", keyId: meta["key"] ?? "" };
}

/** What `doctor` tells of a server. */
export interface ServerFacts {
  location: string;
  /** As the server names it, like `18.4`. */
  version: string;
  hasTls: boolean;
  keyId: string;
  /** Standbys that are connected, and whether a commit waits for one. */
  standbys: number;
  waitsForStandby: boolean;
}

export async function readServer(connection: Connection, address: Address, keyId: string): Promise<ServerFacts> {
  const [row] = await connection.query({
    sql: `SELECT current_setting('server_version') AS version, current_setting('synchronous_standby_names') <> '' AS waits,
      (SELECT count(*)::int FROM pg_stat_replication) AS standbys`,
  });
  const { version, waits, standbys } = row as { version: string; waits: boolean; standbys: number };
  return { location: address.shown, version, hasTls: address.tls !== undefined, keyId, standbys, waitsForStandby: waits };
}
