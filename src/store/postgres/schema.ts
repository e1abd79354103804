import { sharedTables, unusableVersion } from "../schema.ts";

/** Version of the schema that this program writes, and the oldest program's version that may use it: additive changes keep the latter. */
export const schemaVersion = 2;
export const oldestVersion = 2;

/**
 * The tables of a shared state in a schema of their own; those that both engines have are in
 * `sharedTables`. Without sequences, triggers or functions that would need rights of their own. Running it twice changes nothing.
 */
export const tables = (schema: string): string[] => [
  `CREATE SCHEMA IF NOT EXISTS ${schema}`,
  // version, oldest, known-since (the first program that knows a changed schema), key (the id of the one that seals), keyed (who has it), timeline (of the server), set-back
  // (when something may have been lost for the last time); state (its id) and the other marks of whole/marks.ts.
  `CREATE TABLE IF NOT EXISTS ${schema}.meta (name text PRIMARY KEY, value text NOT NULL)`,
  // The transaction that wrote the row, the server and the database are others in a copy.
  `CREATE TABLE IF NOT EXISTS ${schema}.identity (
    id int PRIMARY KEY CHECK (id = 1), born xid8 NOT NULL, system text NOT NULL, database text NOT NULL, claims int NOT NULL
  )`,
  // The gate that an operation on the whole state closes for as long as `endsAt` says: see gate.ts. Not usable while it is being moved,
  // and from then on. `done` is the operation that was committed last.
  `CREATE TABLE IF NOT EXISTS ${schema}.state (
    id int PRIMARY KEY CHECK (id = 1), operation text, token uuid, holder text, since timestamptz,
    "endsAt" timestamptz NOT NULL, usable boolean NOT NULL, done jsonb
  )`,
  `CREATE TABLE IF NOT EXISTS ${schema}.leases (
    uuid text PRIMARY KEY,
    -- Whose it is, another one each time it is taken, and how many steps were made: who finds others has lost the vault.
    epoch uuid NOT NULL,
    step bigint NOT NULL,
    holder text,
    since timestamptz NOT NULL,
    "endsAt" timestamptz NOT NULL
  )`,
  sharedTables(`${schema}.`, {
    id: "uuid",
    journalSeq: "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    real: "double precision",
    time: "double precision",
    strict: "",
    keyed: "",
  }),
  // Who began with an older version has lost its vault.
  `UPDATE ${schema}.leases SET epoch = gen_random_uuid(), holder = NULL, "endsAt" = '-infinity'
    WHERE EXISTS (SELECT 1 FROM ${schema}.meta WHERE name = 'version' AND value <> '${schemaVersion}')`,
  `INSERT INTO ${schema}.state (id, "endsAt", usable) VALUES (1, '-infinity', true) ON CONFLICT DO NOTHING`,
  `INSERT INTO ${schema}.identity SELECT 1, pg_current_xact_id(), ${place.system}, ${place.database}, 0 ON CONFLICT DO NOTHING`,
  `INSERT INTO ${schema}.meta VALUES ('state', gen_random_uuid()::text), ('timeline', ${place.timeline}) ON CONFLICT DO NOTHING`,
  // One that was fenced since this program has looked stays so.
  `INSERT INTO ${schema}.meta VALUES ('oldest', '${oldestVersion}'), ('version', '${schemaVersion}')
    ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE meta.value <> '${unusableVersion}'`,
];

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
