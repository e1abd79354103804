/** In place of the version of a state that was moved elsewhere, or is just being moved here: no program uses it. */
export const unusableVersion = 1_000_000;

/**
 * Version 2, from version 1; not to be run twice. What counts toward lockout is counted from the exchanges, and what version 1 counted is
 * carried. Breakers begin closed.
 */
export const secondVersion = (prefix: string, { time }: Pick<Own, "time">): string => `
  ALTER TABLE ${prefix}vaults ADD COLUMN carried text;
  ALTER TABLE ${prefix}vaults ADD COLUMN "carriedUpTo" text;
  ALTER TABLE ${prefix}exchanges ADD COLUMN outcome text CHECK (outcome IN ('none', 'success', 'refused', 'free'));
  ALTER TABLE ${prefix}exchanges ADD COLUMN sole int NOT NULL DEFAULT 0;
  UPDATE ${prefix}vaults SET carried = '{"unackedStarts":' || "unackedStarts" || ',"unansweredStarts":' || "unansweredStarts"
      || ',"failedAttempts":' || ("failedAttempts" + "quietStarts") || ',"possiblyFailed":' || ("possiblyFailed" + "quietStarts") || '}'
    WHERE forgotten = 0 OR "unackedStarts" > 0 OR "failedAttempts" > 0;
  UPDATE ${prefix}vaults SET "carriedUpTo" = (SELECT exchanges.id FROM ${prefix}exchanges
    WHERE exchanges.vault = vaults.id ORDER BY seq DESC LIMIT 1);
  UPDATE ${prefix}exchanges SET outcome = CASE WHEN "newGeneration" IS NOT NULL THEN 'success'
    WHEN state = 'rejected' THEN 'refused' WHEN state = 'intent' THEN 'none' ELSE 'free' END;
  ${[
    "unackedStarts",
    "unansweredStarts",
    "quietStarts",
    "failedAttempts",
    "possiblyFailed",
    "refusedSince",
  ]
    .map((column) => `ALTER TABLE ${prefix}vaults DROP COLUMN "${column}";`)
    .join(" ")}
  ALTER TABLE ${prefix}exchanges DROP COLUMN "countedStart";
  ALTER TABLE ${prefix}exchanges DROP COLUMN "countedFailed";
  DELETE FROM ${prefix}breakers;
  ${["hint", "contentType", "closedAt"]
    .map((column) => `ALTER TABLE ${prefix}breakers DROP COLUMN "${column}";`)
    .join(" ")}
  ALTER TABLE ${prefix}breakers ADD COLUMN since ${time} NOT NULL DEFAULT 0;
  ALTER TABLE ${prefix}breakers ADD COLUMN probes text NOT NULL DEFAULT 'unasked' CHECK (probes IN ('unasked', 'unanswered', 'answered'));
  ALTER TABLE ${prefix}breakers ADD COLUMN "probedUntil" ${time} NOT NULL DEFAULT 0;
`;

/** What the tables of an engine are made of, where that differs. */
interface Own {
  /** Type of the number of a vault, and what follows a reference to one. */
  id: string;
  late: string;
  exchangeSeq: string;
  journalSeq: string;
  /** Types of numbers with a fraction, and of times in milliseconds since the epoch. */
  real: string;
  time: string;
  /** A column by which labels that are sealed are unique, and the one by which labels are. */
  labelDigest: string;
  label: string;
  exchangeKey: string;
  /** What follows a table, and one that has its rows by their key. */
  strict: string;
  keyed: string;
}

/** The tables that both engines have as of version 1, in SQL, with a prefix for their names. Running it twice changes nothing. */
export const sharedTables = (prefix: string, own: Own): string => `
  CREATE TABLE IF NOT EXISTS ${prefix}vaults (
    id ${own.id} PRIMARY KEY,
    service text NOT NULL,
    uuid text NOT NULL CHECK (uuid = lower(uuid)),
    kind text NOT NULL,
    label text,${own.labelDigest}
    "lastGeneration" int NOT NULL DEFAULT 0,
    "unackedStarts" int NOT NULL DEFAULT 0 CHECK ("unackedStarts" >= 0),
    -- The part of unackedStarts that got no answer, and the part of those, since the last success, that counts no possible failure.
    "unansweredStarts" int NOT NULL DEFAULT 0 CHECK ("unansweredStarts" >= 0),
    "quietStarts" int NOT NULL DEFAULT 0 CHECK ("quietStarts" >= 0),
    "failedAttempts" int NOT NULL DEFAULT 0 CHECK ("failedAttempts" >= 0),
    -- The part of failedAttempts that is only possible: starts whose outcome is unknown.
    "possiblyFailed" int NOT NULL DEFAULT 0 CHECK ("possiblyFailed" >= 0),
    -- Some credentials were refused since the last success.
    "refusedSince" int NOT NULL DEFAULT 0,
    -- When a start last succeeded here, and the expiry of the token that it brought: the service's own time.
    "provenAt" text,
    "proofExpiry" text,
    "usesRemaining" int,
    limited int NOT NULL DEFAULT 0,
    "expiryDate" text,
    "autoLockDate" text,
    "dateCreated" text,
    "lastModified" text,
    "lastError" text,
    forgotten int NOT NULL DEFAULT 0,
    UNIQUE (service, uuid)
  )${own.strict};
  CREATE INDEX IF NOT EXISTS vaults_by_uuid ON ${prefix}vaults (uuid);
  CREATE UNIQUE INDEX IF NOT EXISTS one_label ON ${prefix}vaults (${own.label}) WHERE ${own.label} IS NOT NULL;

  CREATE TABLE IF NOT EXISTS ${prefix}credentials (
    vault ${own.id} NOT NULL REFERENCES ${prefix}vaults (id)${own.late},
    generation int NOT NULL,
    standing text NOT NULL CHECK (standing IN ('current', 'imported', 'offered', 'superseded', 'void')),
    proven int NOT NULL,
    -- Null once it is no longer kept.
    sealed text,
    fingerprint text NOT NULL,
    device text,
    "createdAt" text NOT NULL,
    -- Also known outside of this state.
    elsewhere int NOT NULL DEFAULT 0,
    -- A start with it was refused since it was last accepted.
    refused int NOT NULL DEFAULT 0,
    -- Where an imported one stands among the candidates.
    placed text CHECK (placed IN ('successor', 'older')),
    -- An end call for a successor may have been sent since these were last accepted.
    ended int NOT NULL DEFAULT 0,
    PRIMARY KEY (vault, generation)
  )${own.keyed};
  CREATE INDEX IF NOT EXISTS credentials_kept ON ${prefix}credentials (vault, generation) WHERE sealed IS NOT NULL;
  CREATE UNIQUE INDEX IF NOT EXISTS one_current_pair ON ${prefix}credentials (vault) WHERE standing = 'current';

  CREATE TABLE IF NOT EXISTS ${prefix}exchanges (
    -- In the order in which the exchanges of a vault were begun or adopted.
    seq ${own.exchangeSeq},
    vault ${own.id} NOT NULL REFERENCES ${prefix}vaults (id)${own.late},
    id text NOT NULL,
    operation text NOT NULL,
    kind text NOT NULL,
    state text NOT NULL CHECK (state IN
      ('intent', 'started', 'held', 'ending', 'acknowledged', 'in-doubt', 'expired', 'discarded', 'rejected')),
    "externalRef" text NOT NULL,
    "baseGeneration" int NOT NULL,
    "newGeneration" int,
    "startedAt" text NOT NULL,
    -- Sealed; null before the token is known and once it is of no use.
    token text,
    "tokenExpiry" text,
    "usesRemaining" int,
    limited int NOT NULL DEFAULT 0,
    "holdReason" text,
    delivered int NOT NULL DEFAULT 0,
    "saveOwed" int NOT NULL DEFAULT 0,
    "endsUnanswered" int NOT NULL DEFAULT 0 CHECK ("endsUnanswered" >= 0),
    "acknowledgedAt" text,
    -- What step 1 counted and what can still be taken back.
    "countedStart" int NOT NULL,
    "countedFailed" int NOT NULL,
    -- Taken over from a recovery document.
    adopted int NOT NULL DEFAULT 0,
    -- The run of many vaults in which it was begun, and the sealed digest of the contents that an update sends.
    run text,
    digest text,
    -- The hash of the document that --save-cmd replaces, and the digest of where a run delivers contents.
    given text,
    delivery text,
    -- Host, user and process that began or adopted it, as JSON.
    "by" text,
    UNIQUE (vault, id)${own.exchangeKey}
  )${own.strict};
  CREATE INDEX IF NOT EXISTS exchanges_by_run ON ${prefix}exchanges (run) WHERE run IS NOT NULL;
  CREATE UNIQUE INDEX IF NOT EXISTS one_open_exchange ON ${prefix}exchanges (vault) WHERE state IN ('started', 'held', 'ending', 'in-doubt');

  -- Both outlive a vault that is forgotten.
  CREATE TABLE IF NOT EXISTS ${prefix}superseded (
    vault ${own.id} NOT NULL REFERENCES ${prefix}vaults (id)${own.late}, fingerprint text NOT NULL, PRIMARY KEY (vault, fingerprint)
  )${own.keyed};
  CREATE TABLE IF NOT EXISTS ${prefix}refusals (
    vault ${own.id} NOT NULL REFERENCES ${prefix}vaults (id)${own.late},
    combination text NOT NULL,
    -- Of the pair that was refused in this combination, where it is known.
    fingerprint text,
    PRIMARY KEY (vault, combination)
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

  -- The circuit breaker of each service that once did not answer a start. Times are milliseconds since the epoch.
  CREATE TABLE IF NOT EXISTS ${prefix}breakers (
    service text PRIMARY KEY,
    version int NOT NULL,
    "lostAt" ${own.time},
    "lostTrials" int NOT NULL,
    hint text NOT NULL CHECK (hint IN ('none', 'given', 'used')),
    "httpStatus" int,
    "contentType" text,
    "closedAt" ${own.time} NOT NULL
  )${own.keyed}`;
