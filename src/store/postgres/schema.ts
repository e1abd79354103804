/** Version of the schema that this program writes, and the oldest program's version that may use it: additive changes keep the latter. */
export const schemaVersion = 1;
export const oldestVersion = 1;

/** In place of the oldest version in a state that was moved elsewhere, or is just being moved here: no program uses it. */
export const unusableVersion = 1_000_000;

/**
 * The tables of a shared state in a schema of their own; the columns that both engines have are those of the local one
 * (sqlite/schema.ts). Without sequences, triggers or functions that would need rights of their own. Running it twice changes nothing.
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
  // The gate that an operation on the whole state closes for as long as `ends_at` says: see gate.ts. Not usable while it is being moved,
  // and from then on. `done` is the operation that was committed last.
  `CREATE TABLE IF NOT EXISTS ${schema}.state (
    id int PRIMARY KEY CHECK (id = 1), operation text, token uuid, holder text, since timestamptz,
    ends_at timestamptz NOT NULL, usable boolean NOT NULL, done jsonb
  )`,
  `CREATE TABLE IF NOT EXISTS ${schema}.leases (
    uuid text PRIMARY KEY,
    -- Whose it is, another one each time it is taken, and how many steps were made: who finds others has lost the vault.
    epoch uuid NOT NULL,
    step bigint NOT NULL,
    holder text,
    since timestamptz NOT NULL,
    ends_at timestamptz NOT NULL
  )`,
  `CREATE TABLE IF NOT EXISTS ${schema}.vaults (
    id uuid PRIMARY KEY,
    service text NOT NULL,
    uuid text NOT NULL CHECK (uuid = lower(uuid)),
    kind text NOT NULL,
    label text,
    -- A label belongs to one vault. It is sealed, so that this digest tells it; other programs that may write have the key, too.
    label_digest text,
    last_generation int NOT NULL,
    unacked_starts int NOT NULL CHECK (unacked_starts >= 0),
    unanswered_starts int NOT NULL CHECK (unanswered_starts >= 0),
    quiet_starts int NOT NULL CHECK (quiet_starts >= 0),
    failed_attempts int NOT NULL CHECK (failed_attempts >= 0),
    possibly_failed int NOT NULL CHECK (possibly_failed >= 0),
    refused_since int NOT NULL,
    proven_at text,
    proof_expiry text,
    uses_remaining int,
    limited int NOT NULL,
    expiry_date text,
    auto_lock_date text,
    date_created text,
    last_modified text,
    last_error text,
    forgotten int NOT NULL,
    UNIQUE (service, uuid)
  )`,
  `CREATE INDEX IF NOT EXISTS vaults_by_uuid ON ${schema}.vaults (uuid)`,
  `CREATE UNIQUE INDEX IF NOT EXISTS one_label ON ${schema}.vaults (label_digest)`,
  `CREATE TABLE IF NOT EXISTS ${schema}.credentials (
    vault uuid NOT NULL REFERENCES ${schema}.vaults (id) DEFERRABLE,
    generation int NOT NULL,
    standing text NOT NULL CHECK (standing IN ('current', 'imported', 'offered', 'superseded', 'void')),
    proven int NOT NULL,
    -- Null once it is no longer kept.
    sealed text,
    fingerprint text NOT NULL,
    device text,
    created_at text NOT NULL,
    elsewhere int NOT NULL,
    refused int NOT NULL,
    placed text CHECK (placed IN ('successor', 'older')),
    ended int NOT NULL,
    PRIMARY KEY (vault, generation)
  )`,
  `CREATE INDEX IF NOT EXISTS credentials_kept ON ${schema}.credentials (vault, generation) WHERE sealed IS NOT NULL`,
  `CREATE UNIQUE INDEX IF NOT EXISTS one_current_pair ON ${schema}.credentials (vault) WHERE standing = 'current'`,
  `CREATE TABLE IF NOT EXISTS ${schema}.exchanges (
    vault uuid NOT NULL REFERENCES ${schema}.vaults (id) DEFERRABLE,
    -- In the order in which this vault's exchanges were begun or adopted.
    seq int NOT NULL,
    id text NOT NULL,
    operation text NOT NULL,
    kind text NOT NULL,
    state text NOT NULL CHECK (state IN
      ('intent', 'started', 'held', 'ending', 'acknowledged', 'in-doubt', 'expired', 'discarded', 'rejected')),
    external_ref text NOT NULL,
    base_generation int NOT NULL,
    new_generation int,
    started_at text NOT NULL,
    -- Sealed; null before the token is known and once it is of no use.
    token text,
    token_expiry text,
    uses_remaining int,
    limited int NOT NULL,
    hold_reason text,
    delivered int NOT NULL,
    save_owed int NOT NULL,
    ends_unanswered int NOT NULL CHECK (ends_unanswered >= 0),
    acknowledged_at text,
    counted_start int NOT NULL,
    counted_failed int NOT NULL,
    adopted int NOT NULL,
    run text,
    digest text,
    given text,
    delivery text,
    PRIMARY KEY (vault, seq),
    UNIQUE (vault, id)
  )`,
  `CREATE UNIQUE INDEX IF NOT EXISTS one_open_exchange ON ${schema}.exchanges (vault)
    WHERE state IN ('started', 'held', 'ending', 'in-doubt')`,
  `CREATE INDEX IF NOT EXISTS exchanges_by_run ON ${schema}.exchanges (run) WHERE run IS NOT NULL`,
  `CREATE TABLE IF NOT EXISTS ${schema}.superseded (
    vault uuid NOT NULL REFERENCES ${schema}.vaults (id) DEFERRABLE, fingerprint text NOT NULL, PRIMARY KEY (vault, fingerprint)
  )`,
  `CREATE TABLE IF NOT EXISTS ${schema}.refusals (
    vault uuid NOT NULL REFERENCES ${schema}.vaults (id) DEFERRABLE, combination text NOT NULL, fingerprint text,
    PRIMARY KEY (vault, combination)
  )`,
  `CREATE TABLE IF NOT EXISTS ${schema}.journal (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at text NOT NULL,
    service text NOT NULL,
    uuid text NOT NULL,
    exchange text,
    event text NOT NULL,
    detail text NOT NULL
  )`,
  `CREATE TABLE IF NOT EXISTS ${schema}.limiter (
    application text PRIMARY KEY, next double precision NOT NULL, reserved_at double precision NOT NULL
  )`,
  `CREATE TABLE IF NOT EXISTS ${schema}.breakers (
    service text PRIMARY KEY,
    version int NOT NULL,
    lost_at double precision,
    lost_trials int NOT NULL,
    hint text NOT NULL CHECK (hint IN ('none', 'given', 'used')),
    http_status int,
    content_type text,
    closed_at double precision NOT NULL
  )`,
  // Who began with an older version has lost its vault.
  `UPDATE ${schema}.leases SET epoch = gen_random_uuid(), holder = NULL, ends_at = '-infinity'
    WHERE EXISTS (SELECT 1 FROM ${schema}.meta WHERE name = 'version' AND value <> '${schemaVersion}')`,
  `INSERT INTO ${schema}.state (id, ends_at, usable) VALUES (1, '-infinity', true) ON CONFLICT DO NOTHING`,
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
