import { VaultError } from "../../errors.ts";
import { command, noted } from "../../way.ts";
import { sharedTables, quoted, type Dialect, type Statement } from "../tables.ts";
import { checkHere, marksIn, type Marks } from "../whole/marks.ts";
import type { Address } from "./address.ts";
import type { Query, Row } from "./database.ts";
import { cannotBeUsed, nothingThere, olderVersion } from "./errors.ts";

/** Version that this program writes, and the oldest that may use it: additive changes keep that. */
export const schemaVersion = 2;
const oldestVersion = 2;

/**
 * The tables of a shared state in their own schema; `sharedTables` has those of both engines. No
 * sequences, triggers or functions that would need own rights. A second run changes nothing.
 */
export const tables = (schema: string): string[] => [
  `CREATE SCHEMA IF NOT EXISTS ${schema}`,
  // version, oldest, key (the id of the one that seals), timeline (of the server);
  // closing (of the gate: gate.ts); state (its id) and the other marks of whole/marks.ts.
  `CREATE TABLE IF NOT EXISTS ${schema}.meta (name text PRIMARY KEY, value text NOT NULL)`,
  // The transaction that wrote the row, the server and the database are others in a copy.
  `CREATE TABLE IF NOT EXISTS ${schema}.identity (
    id int PRIMARY KEY CHECK (id = 1), born xid8 NOT NULL, system text NOT NULL, database text NOT NULL
  )`,
  sharedTables(`${schema}.`, {
    id: "uuid DEFAULT gen_random_uuid()",
    // Who has locked the vault, until when; each time with another epoch, so that who lost it can
    // tell. A number would be used again after a failover.
    lease: " holder text, epoch uuid, since timestamptz, ends_at timestamptz,",
    journalSeq: "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    real: "double precision",
    time: "double precision",
    strict: "",
    keyed: "",
  }),
  `INSERT INTO ${schema}.identity SELECT 1, pg_current_xact_id(), ${place.system}, ${place.database} ON CONFLICT DO NOTHING`,
  `INSERT INTO ${schema}.meta VALUES ('state', gen_random_uuid()::text), ('timeline', ${place.timeline}) ON CONFLICT DO NOTHING`,
  `INSERT INTO ${schema}.meta VALUES ('oldest', '${oldestVersion}'), ('version', '${schemaVersion}')
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
];

export const dialectOf = (schema: string): Dialect => ({
  prefix: `${schema}.`,
  texts: (mark) => `SELECT value FROM jsonb_array_elements_text(${mark}::jsonb)`,
  list: (table, mark) => ({
    from: `jsonb_array_elements(${mark}::jsonb) WITH ORDINALITY AS list (item, n)
      CROSS JOIN LATERAL jsonb_populate_record(NULL::${schema}.${table}, item) AS made`,
    column: (name) => `made.${quoted(name)}`,
  }),
  open: `(SELECT 1 WHERE NOT EXISTS (SELECT FROM ${schema}.meta WHERE name IN ('fence', 'moved'))) AS open`,
  // A reservation is not waited for to be durable.
  moment: () =>
    "SELECT extract(epoch FROM clock_timestamp())::double precision * 1000 AS at, set_config('synchronous_commit', 'off', true)",
});

/** The rights on rows that every command but `state init` needs. */
export function grants(schema: string, role: string): string[] {
  const name = `"${role.replaceAll('"', '""')}"`;
  return [
    `GRANT USAGE ON SCHEMA ${schema} TO ${name}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${name}`,
  ];
}

/** Expressions that tell a database from copies, and a server from its failover successor. */
const place = {
  system: "(SELECT system_identifier::text FROM pg_control_system())",
  database: "(SELECT oid::text FROM pg_database WHERE datname = current_database())",
  timeline: "left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)",
};

/** What the database says of itself and of the state in it. */
export interface About extends Marks {
  /** False if server, database or transaction did not write the row, as in a dumped copy. */
  original: boolean;
  /** Of the server, another one after a failover; `noted` is the one on record. */
  timeline: string;
  noted: string;
  /** Milliseconds since the epoch, by the database's clock. */
  now: number;
  /** Time of the oldest entry of the journal. */
  oldest: string | null;
}

/** Reads what `aboutIn` takes. */
export const aboutStatement = (schema: string): Statement => ({
  sql: `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::double precision AS now, current_setting('fsync') AS fsync, standby,
      CASE WHEN NOT standby THEN ${place.timeline} END AS timeline,
      (SELECT born::text::numeric % 4294967296 = xmin::text::numeric AND system = ${place.system} AND database = ${place.database}
        FROM ${schema}.identity) AS original,
      (SELECT at FROM ${schema}.journal ORDER BY seq LIMIT 1) AS oldest,
      (SELECT jsonb_object_agg(name, value) FROM ${schema}.meta) AS meta
    FROM pg_is_in_recovery() AS standby`,
});

export type Meta = Record<string, string | undefined>;

/** Reads the facts that the state has about itself, by name, as the schema says; as `metaIn`. */
export async function readMeta(database: { address: Address; query: Query }): Promise<Meta> {
  const sql = `SELECT jsonb_object_agg(name, value) AS meta FROM ${database.address.schema}.meta`;
  return metaIn((await database.query({ sql }))[0], database.address);
}

/** @throws `state` if nothing is there; a state being made may show tables without their rows */
export function metaIn(row: Row | undefined, address: Address): Meta {
  const meta = (row?.["meta"] ?? null) as Meta | null;
  if (meta === null) throw nothingThere(address);
  return meta;
}

/** @throws `state` for a server that can lose commits or cannot write, and for another version */
export function aboutIn(row: Row | undefined, address: Address): About {
  const meta = metaIn(row, address);
  const { fsync, standby, meta: _, ...facts } = row as unknown as About & Row;
  if (standby === true) throw cannotBeUsed(address, "the server is a read-only standby");
  checkDurable(fsync, address);
  checkVersion(meta, address);
  if (Number(meta["version"]) < schemaVersion) throw olderVersion(address);
  return { ...facts, ...marksIn(meta), noted: meta["timeline"] ?? "" };
}

/**
 * Checks a server by its setting `fsync`.
 * @throws `state` for one that loses what it commits
 */
export function checkDurable(fsync: unknown, address: Address): void {
  if (fsync === "on" || address.isDurableAssumed) return;
  throw cannotBeUsed(address, "the server loses what it has committed when it stops (fsync=off)", {
    hint: "set fsync=on there; or, for a test: durable=assumed in the address",
  });
}

/** @throws `state` for a state that was moved, and for one that this program is too old for */
export function checkVersion(meta: Meta, address: Address): void {
  checkHere(address.shown, marksIn(meta));
  if (Number(meta["oldest"]) > schemaVersion)
    throw cannotBeUsed(address, "it is of a newer version", { hint: "update vault" });
}

/**
 * Notices copies and failovers: after one to a server that may lack the last writes, no credentials
 * count as sole or proven. Returns whether that was just marked, which outdates earlier reads.
 * @throws `state` for a copy, until it is claimed
 */
export async function checkIncarnation(
  address: Address,
  { original, timeline, noted: former }: About,
  change: Query,
  warn: (message: string) => void,
): Promise<boolean> {
  const { shown, schema } = address;
  if (!original)
    throw new VaultError(
      "state",
      `the state ${shown} is a copy (it was made on another server or in another database); nothing was sent`,
      {
        hint: "use the original",
        next: [
          noted(
            command`vault state claim --state ${shown}`,
            "if nobody uses the original any more",
          ),
        ],
      },
    );
  if (timeline === former) return false;
  const changed = await change({
    sql: `WITH changed AS (UPDATE ${schema}.meta SET value = $2 WHERE name = 'timeline' AND value = $1 RETURNING 1)
      INSERT INTO ${schema}.meta SELECT raised, '1' FROM changed, unnest(ARRAY['copies', 'doubts']) AS raised
      ON CONFLICT (name) DO UPDATE SET value = (meta.value::int + 1)::text RETURNING 1`,
    values: [former, timeline],
  });
  // Without a row, somebody else was faster, and has said so.
  if (changed.length > 0)
    warn(
      `${shown}: another server has taken over, and may lack the last changes: no credentials count as verified before they have worked again`,
    );
  return true;
}

/** Makes this database the one that holds the state, whatever it was copied from. */
export const reborn = (schema: string): string =>
  `UPDATE ${schema}.identity SET born = pg_current_xact_id(), system = ${place.system}, database = ${place.database};
    UPDATE ${schema}.meta SET value = ${place.timeline} WHERE name = 'timeline'`;
