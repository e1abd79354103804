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
  -- Facts about the state itself: journal-from, before which journal entries may be removed.
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

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
    failed_attempts INTEGER NOT NULL DEFAULT 0 CHECK (failed_attempts >= 0),
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
    UNIQUE (vault, id)
  ) STRICT;
  CREATE INDEX exchanges_by_vault ON exchanges (vault, seq);
  CREATE UNIQUE INDEX one_open_exchange ON exchanges (vault) WHERE state IN ('started', 'held', 'ending', 'in-doubt');

  -- Both outlive a vault that is forgotten.
  CREATE TABLE superseded (
    vault INTEGER NOT NULL REFERENCES vaults (id), fingerprint TEXT NOT NULL, PRIMARY KEY (vault, fingerprint)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE refusals (
    vault INTEGER NOT NULL REFERENCES vaults (id), combination TEXT NOT NULL, PRIMARY KEY (vault, combination)
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
  `,
  `
  -- The part of failed_attempts that is only possible: starts whose outcome is unknown.
  ALTER TABLE vaults ADD COLUMN possibly_failed INTEGER NOT NULL DEFAULT 0 CHECK (possibly_failed >= 0);
  UPDATE vaults SET possibly_failed = min(failed_attempts, (
    SELECT coalesce(sum(counted_failed), 0) FROM exchanges WHERE vault = vaults.id AND state = 'intent'));
  -- When a start last succeeded here, and the expiry of the token that it brought: the service's own time.
  ALTER TABLE vaults ADD COLUMN proven_at TEXT;
  ALTER TABLE vaults ADD COLUMN proof_expiry TEXT;
  -- Also known outside of this state. Of earlier ones that cannot be told any more.
  ALTER TABLE credentials ADD COLUMN elsewhere INTEGER NOT NULL DEFAULT 0;
  UPDATE credentials SET elsewhere = 1;
  -- A start with it was refused since it was last accepted.
  ALTER TABLE credentials ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;
  -- Where an imported one stands among the candidates.
  ALTER TABLE credentials ADD COLUMN placed TEXT CHECK (placed IN ('successor', 'older'));
  -- Taken over from a recovery document.
  ALTER TABLE exchanges ADD COLUMN adopted INTEGER NOT NULL DEFAULT 0;
  UPDATE exchanges SET adopted = 1 WHERE external_ref = '';
  -- Of the pair that was refused in this combination, where it is known.
  ALTER TABLE refusals ADD COLUMN fingerprint TEXT;
  -- Services at which a start went unanswered, until one answers a probe.
  CREATE TABLE outages (service TEXT PRIMARY KEY, since TEXT NOT NULL) STRICT, WITHOUT ROWID;
  `,
  `
  -- The run of many vaults in which it was begun, and the sealed digest of the contents that an update sends.
  ALTER TABLE exchanges ADD COLUMN run TEXT;
  ALTER TABLE exchanges ADD COLUMN digest TEXT;
  CREATE INDEX exchanges_by_run ON exchanges (run) WHERE run IS NOT NULL;
  `,
  `
  -- The part of unacked_starts that got no answer, and the part of those, since the last success, that counts no possible failure.
  ALTER TABLE vaults ADD COLUMN unanswered_starts INTEGER NOT NULL DEFAULT 0 CHECK (unanswered_starts >= 0);
  ALTER TABLE vaults ADD COLUMN quiet_starts INTEGER NOT NULL DEFAULT 0 CHECK (quiet_starts >= 0);
  UPDATE vaults SET unanswered_starts = min(unacked_starts, (
    SELECT coalesce(sum(counted_start), 0) FROM exchanges WHERE vault = vaults.id AND state = 'intent'));
  -- Some credentials were refused since the last success.
  ALTER TABLE vaults ADD COLUMN refused_since INTEGER NOT NULL DEFAULT 0;
  -- An end call for a successor may have been sent since these were last accepted.
  ALTER TABLE credentials ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;
  -- The hash of the document that --save-cmd replaces, and the digest of where a run delivers contents.
  -- A label belongs to one vault: the first that had it.
  UPDATE vaults SET label = NULL WHERE EXISTS (SELECT 1 FROM vaults AS other WHERE other.label = vaults.label AND other.id < vaults.id);
  CREATE UNIQUE INDEX one_label ON vaults (label) WHERE label IS NOT NULL;
  ALTER TABLE exchanges ADD COLUMN given TEXT;
  ALTER TABLE exchanges ADD COLUMN delivery TEXT;
  -- The id of the state. The other marks of whole/marks.ts are in this table, too.
  INSERT INTO meta VALUES ('state', lower(hex(randomblob(16))));
  -- The circuit breaker of each service that once did not answer a start. Times are milliseconds since the epoch.
  DROP TABLE outages;
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
