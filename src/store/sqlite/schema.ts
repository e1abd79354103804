import { secondVersion, sharedTables } from "../schema.ts";

/** "vsst" in the file header, which distinguishes a state from any other SQLite database. */
export const applicationId = 0x76737374;

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

  ${sharedTables("", {
    id: "INTEGER",
    late: "",
    exchangeSeq: "INTEGER PRIMARY KEY AUTOINCREMENT",
    journalSeq: "INTEGER PRIMARY KEY AUTOINCREMENT",
    real: "REAL",
    time: "int",
    labelDigest: "",
    label: "label",
    exchangeKey: "",
    strict: " STRICT",
    keyed: " STRICT, WITHOUT ROWID",
  })};
  CREATE INDEX exchanges_by_vault ON exchanges (vault, seq);
  CREATE TRIGGER journal_is_never_changed BEFORE UPDATE ON journal
  BEGIN SELECT RAISE (ABORT, 'the journal is append-only'); END;
  CREATE TRIGGER journal_is_only_pruned BEFORE DELETE ON journal
  WHEN OLD.at >= coalesce((SELECT value FROM meta WHERE name = 'journal-from'), '')
  BEGIN SELECT RAISE (ABORT, 'the journal is append-only'); END;
  `,
  `${secondVersion("", { time: "int" })} INSERT OR REPLACE INTO meta VALUES ('known-since', '0.3.0');
  INSERT OR REPLACE INTO meta SELECT 'key', substr(sealed, 4, 16) FROM credentials WHERE sealed IS NOT NULL LIMIT 1;`,
];
