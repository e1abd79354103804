import { sharedTables, unusableVersion } from "../schema.ts";
import type { Dialect } from "../statement.ts";
import { quoted } from "../statement.ts";

/** Version of the schema that this program writes, and the oldest program's version that may use it: additive changes keep the latter. */
export const schemaVersion = 2;
export const oldestVersion = 2;

/**
 * The tables of a shared state in a schema of their own; those that both engines have are in
 * `sharedTables`. Without sequences, triggers or functions that would need rights of their own. Running it twice changes nothing.
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
    id: "uuid",
    // Who has locked the vault, until when; another epoch each time: who finds one that is not its own has lost it. A number would be used
    // again after a failover.
    lease: " holder text, epoch uuid, since timestamptz, ends_at timestamptz,",
    journalSeq: "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    real: "double precision",
    time: "double precision",
    strict: "",
    keyed: "",
  }),
  `INSERT INTO ${schema}.identity SELECT 1, pg_current_xact_id(), ${place.system}, ${place.database} ON CONFLICT DO NOTHING`,
  `INSERT INTO ${schema}.meta VALUES ('state', gen_random_uuid()::text), ('timeline', ${place.timeline}) ON CONFLICT DO NOTHING`,
  // One that was fenced since this program has looked stays so.
  `INSERT INTO ${schema}.meta VALUES ('oldest', '${oldestVersion}'), ('version', '${schemaVersion}')
    ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE meta.value <> '${unusableVersion}'`,
];

/** The SQL of PostgreSQL for a state in a schema. */
export const dialectOf = (schema: string): Dialect => ({
  prefix: `${schema}.`,
  newId: "gen_random_uuid()",
  texts: (mark) => `SELECT value FROM jsonb_array_elements_text(${mark}::jsonb)`,
  list: (table, mark) => ({
    from: `jsonb_array_elements(${mark}::jsonb) WITH ORDINALITY AS list (item, n)
      CROSS JOIN LATERAL jsonb_populate_record(NULL::${schema}.${table}, item) AS made`,
    column: (name) => `made.${quoted(name)}`,
  }),
  open: `(SELECT 1 WHERE NOT EXISTS (SELECT FROM ${schema}.meta WHERE name IN ('fence', 'moved'))) AS open`,
});

/** Expressions for what tells one database from its copies, and a server from its successor after a failover. */
export const place = {
  system: "(SELECT system_identifier::text FROM pg_control_system())",
  database: "(SELECT oid::text FROM pg_database WHERE datname = current_database())",
  timeline: "left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)",
};

/** The rights on rows that every command but `state init` needs. */
export function grants(schema: string, role: string): string[] {
  const name = `"${role.replaceAll('"', '""')}"`;
  return [
    `GRANT USAGE ON SCHEMA ${schema} TO ${name}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${name}`,
  ];
}
