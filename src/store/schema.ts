/** What the tables of an engine are made of, where that differs. */
interface Own {
  /** Type of the number of a vault. */
  id: string;
  journalSeq: string;
  /** Columns for the lease of a vault. */
  lease: string;
  /** Types of numbers with a fraction, and of times in milliseconds since the epoch. */
  real: string;
  time: string;
  /** What follows a table, and one that has its rows by their key. */
  strict: string;
  keyed: string;
}

/** The tables that both engines have, in SQL, with a prefix for their names. Running it twice changes nothing. */
export const sharedTables = (prefix: string, own: Own): string => `
  -- A vault is one document: see document.ts.
  CREATE TABLE IF NOT EXISTS ${prefix}vaults (
    id ${own.id} PRIMARY KEY,
    service text NOT NULL,
    uuid text NOT NULL CHECK (uuid = lower(uuid)),
    label text,
    kind text NOT NULL,
    status text NOT NULL CHECK (status IN ('open', 'closed', 'counted', 'forgotten', 'absent')),
    version int NOT NULL DEFAULT 1,
    doc text NOT NULL,
    sealed text NOT NULL,${own.lease}
    UNIQUE (service, uuid)
  )${own.strict};
  CREATE INDEX IF NOT EXISTS vaults_by_uuid ON ${prefix}vaults (uuid);
  CREATE UNIQUE INDEX IF NOT EXISTS one_label ON ${prefix}vaults (label) WHERE label IS NOT NULL;

  -- Fingerprints of pairs that were ever superseded. Only added to.
  CREATE TABLE IF NOT EXISTS ${prefix}spent (
    service text NOT NULL, uuid text NOT NULL, fingerprint text NOT NULL, PRIMARY KEY (service, uuid, fingerprint)
  )${own.keyed};

  -- The newest exchange of each vault in a run of many vaults, for continuing that.
  CREATE TABLE IF NOT EXISTS ${prefix}runs (
    service text NOT NULL,
    run text NOT NULL,
    uuid text NOT NULL,
    exchange text NOT NULL,
    operation text NOT NULL,
    state text NOT NULL,
    delivered int NOT NULL,
    -- The sealed digest of the contents that an update sends, and the digest of where contents are delivered.
    digest text,
    delivery text,
    PRIMARY KEY (service, run, uuid)
  )${own.keyed};

  CREATE TABLE IF NOT EXISTS ${prefix}journal (
    seq ${own.journalSeq},
    at text NOT NULL,
    service text NOT NULL,
    uuid text NOT NULL,
    exchange text,
    event text NOT NULL,
    detail text NOT NULL
  )${own.strict};
  CREATE TABLE IF NOT EXISTS ${prefix}limiter (application text PRIMARY KEY, next ${own.real} NOT NULL, "reservedAt" ${own.real} NOT NULL)${own.keyed};

  -- The circuit breaker of each service. Times are milliseconds since the epoch.
  CREATE TABLE IF NOT EXISTS ${prefix}breakers (
    service text PRIMARY KEY,
    version int NOT NULL,
    "lostAt" ${own.time},
    "lostTrials" int NOT NULL,
    "httpStatus" int,
    since ${own.time} NOT NULL,
    probes text NOT NULL CHECK (probes IN ('unasked', 'unanswered', 'answered')),
    "probedUntil" ${own.time} NOT NULL
  )${own.keyed}`;
