/** "vsst" in the file header, which distinguishes a state from any other SQLite database. */
export const applicationId = 0x76737374;

/** In place of the version of a state that was moved elsewhere, or is just being moved here: no program uses it. */
export const unusableVersion = 1_000_000;

/**
 * Scripts, each of which migrates a state to the version that is its position in the list, from 1. A published script is never
 * changed, only followed by another, which also says the first version of the program that knows it (known-since in meta): earlier
 * ones tell that to users. A new state runs all of them.
 */
export const migrations: readonly string[] = [
  `
  -- Facts about the state itself: journal-from, before which journal entries may be removed; state, its id; the other marks of
  -- whole/marks.ts.
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO meta VALUES ('state', lower(hex(randomblob(16))));

  -- How often each vault lock was taken: a holder that finds another number has lost its vault.
  CREATE TABLE locks (slot INTEGER PRIMARY KEY, epoch INTEGER NOT NULL) STRICT;

  CREATE TABLE vaults (
    id INTEGER PRIMARY KEY,
    service TEXT NOT NULL,
    uuid TEXT NOT NULL CHECK (uuid = lower(uuid)),
    kind TEXT NOT NULL,
    label TEXT,
    last_generation INTEGER NOT NULL DEFAULT 0,
    unacked_starts INTEGER NOT NULL DEFAULT 0 CHECK (unacked_starts >= 0),
    -- The part of unacked_starts that got no answer, and the part of those, since the last success, that counts no possible failure.
    unanswered_starts INTEGER NOT NULL DEFAULT 0 CHECK (unanswered_starts >= 0),
    quiet_starts INTEGER NOT NULL DEFAULT 0 CHECK (quiet_starts >= 0),
    failed_attempts INTEGER NOT NULL DEFAULT 0 CHECK (failed_attempts >= 0),
    -- The part of failed_attempts that is only possible: starts whose outcome is unknown.
    possibly_failed INTEGER NOT NULL DEFAULT 0 CHECK (possibly_failed >= 0),
    -- Some credentials were refused since the last success.
    refused_since INTEGER NOT NULL DEFAULT 0,
    -- When a start last succeeded here, and the expiry of the token that it brought: the service's own time.
    proven_at TEXT,
    proof_expiry TEXT,
    uses_remaining INTEGER,
    limited INTEGER NOT NULL DEFAULT 0,
    expiry_date TEXT,
    auto_lock_date TEXT,
    date_created TEXT,
    last_modified TEXT,
    last_error TEXT,
    forgotten INTEGER NOT NULL DEFAULT 0,
    UNIQUE (service, uuid)
  ) STRICT;
  CREATE INDEX vaults_by_uuid ON vaults (uuid);
  CREATE UNIQUE INDEX one_label ON vaults (label) WHERE label IS NOT NULL;

  CREATE TABLE credentials (
    vault INTEGER NOT NULL REFERENCES vaults (id),
    generation INTEGER NOT NULL,
    standing TEXT NOT NULL CHECK (standing IN ('current', 'imported', 'offered', 'superseded', 'void')),
    proven INTEGER NOT NULL,
    -- Null once it is no longer kept.
    sealed TEXT,
    fingerprint TEXT NOT NULL,
    device TEXT,
    created_at TEXT NOT NULL,
    -- Also known outside of this state.
    elsewhere INTEGER NOT NULL DEFAULT 0,
    -- A start with it was refused since it was last accepted.
    refused INTEGER NOT NULL DEFAULT 0,
    -- Where an imported one stands among the candidates.
    placed TEXT CHECK (placed IN ('successor', 'older')),
    -- An end call for a successor may have been sent since these were last accepted.
    ended INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (vault, generation)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX credentials_kept ON credentials (vault, generation) WHERE sealed IS NOT NULL;
  CREATE UNIQUE INDEX one_current_pair ON credentials (vault) WHERE standing = 'current';

  CREATE TABLE exchanges (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    vault INTEGER NOT NULL REFERENCES vaults (id),
    id TEXT NOT NULL,
    operation TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN
      ('intent', 'started', 'held', 'ending', 'acknowledged', 'in-doubt', 'expired', 'discarded', 'rejected')),
    external_ref TEXT NOT NULL,
    base_generation INTEGER NOT NULL,
    new_generation INTEGER,
    started_at TEXT NOT NULL,
    -- Sealed; null before the token is known and once it is of no use.
    token TEXT,
    token_expiry TEXT,
    uses_remaining INTEGER,
    limited INTEGER NOT NULL DEFAULT 0,
    hold_reason TEXT,
    delivered INTEGER NOT NULL DEFAULT 0,
    save_owed INTEGER NOT NULL DEFAULT 0,
    ends_unanswered INTEGER NOT NULL DEFAULT 0 CHECK (ends_unanswered >= 0),
    acknowledged_at TEXT,
    -- What step 1 counted and what can still be taken back.
    counted_start INTEGER NOT NULL,
    counted_failed INTEGER NOT NULL,
    -- Taken over from a recovery document.
    adopted INTEGER NOT NULL DEFAULT 0,
    -- The run of many vaults in which it was begun, and the sealed digest of the contents that an update sends.
    run TEXT,
    digest TEXT,
    -- The hash of the document that --save-cmd replaces, and the digest of where a run delivers contents.
    given TEXT,
    delivery TEXT,
    UNIQUE (vault, id)
  ) STRICT;
  CREATE INDEX exchanges_by_vault ON exchanges (vault, seq);
  CREATE INDEX exchanges_by_run ON exchanges (run) WHERE run IS NOT NULL;
  CREATE UNIQUE INDEX one_open_exchange ON exchanges (vault) WHERE state IN ('started', 'held', 'ending', 'in-doubt');

  -- Both outlive a vault that is forgotten.
  CREATE TABLE superseded (
    vault INTEGER NOT NULL REFERENCES vaults (id), fingerprint TEXT NOT NULL, PRIMARY KEY (vault, fingerprint)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE refusals (
    vault INTEGER NOT NULL REFERENCES vaults (id),
    combination TEXT NOT NULL,
    -- Of the pair that was refused in this combination, where it is known.
    fingerprint TEXT,
    PRIMARY KEY (vault, combination)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE journal (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    service TEXT NOT NULL,
    uuid TEXT NOT NULL,
    exchange TEXT,
    event TEXT NOT NULL,
    detail TEXT NOT NULL
  ) STRICT;
  CREATE TRIGGER journal_is_never_changed BEFORE UPDATE ON journal
  BEGIN SELECT RAISE (ABORT, 'the journal is append-only'); END;
  CREATE TRIGGER journal_is_only_pruned BEFORE DELETE ON journal
  WHEN OLD.at >= coalesce((SELECT value FROM meta WHERE name = 'journal-from'), '')
  BEGIN SELECT RAISE (ABORT, 'the journal is append-only'); END;

  CREATE TABLE limiter (application TEXT PRIMARY KEY, next REAL NOT NULL, reserved_at REAL NOT NULL) STRICT, WITHOUT ROWID;

  -- The circuit breaker of each service that once did not answer a start. Times are milliseconds since the epoch.
  CREATE TABLE breakers (
    service TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    lost_at INTEGER,
    lost_trials INTEGER NOT NULL,
    hint TEXT NOT NULL CHECK (hint IN ('none', 'given', 'used')),
    http_status INTEGER,
    content_type TEXT,
    closed_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
];
