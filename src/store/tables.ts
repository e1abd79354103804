import { closed, type Breaker, type Seen } from "../exchange/breaker.ts";
import { firstIdAt } from "../exchange/records.ts";

/** A value of a column: what SQLite and PostgreSQL both take. */
export type Value = string | number | null;

/** SQL with `$1`, `$2` … for its values. */
export interface Statement {
  sql: string;
  values?: readonly Value[];
}

/** Adds a value to those of a statement, and returns its mark. */
export type Put = (value: Value) => string;

/** A statement that is written with the marks of its values. */
export function written(write: (put: Put) => string): Required<Statement> {
  const values: Value[] = [];
  const sql = write((value) => `$${values.push(value)}`);
  return { sql, values };
}

/** Where statements that both engines know differ. */
export interface Dialect {
  /** In front of the name of a table. */
  readonly prefix: string;
  /** Selects the texts (as `value`) in the JSON list that a mark stands for. */
  readonly texts: (mark: string) => string;
  /** In FROM: objects of a mark's JSON list, with places `n`; and a column of `table` in one. */
  readonly list: (table: Table, mark: string) => { from: string; column: (name: string) => string };
  /** In FROM: one row for a writer without a vault's lock; none if the state is out of use. */
  readonly open: string;
  /** Selects the time of reservations (`at`), epoch milliseconds; a mark is this machine's. */
  readonly moment: (now: () => string) => string;
}

/** The tables that make up a state, with the columns that order their rows. */
export const keys = {
  vaults: ["service", "uuid"],
  spent: ["service", "uuid", "fingerprint"],
  runs: ["service", "run", "uuid"],
  breakers: ["service"],
  journal: ["seq"],
} as const;

export type Table = keyof typeof keys;

export type Row = Record<string, Value>;

/**
 * SQL that adds rows with the same columns to a table, in order, if `from` has a row, or replaces
 * those with their key; journal entries are only added. Numbers local to a place are made anew: the
 * id and version of a vault, the `seq` of an entry. `list` are the rows as JSON.
 */
export function inserting(
  dialect: Dialect,
  table: Table,
  columns: readonly string[],
  list: string,
  from = "(SELECT 1) AS always",
): string {
  const items = dialect.list(table, list);
  const own = columns.filter((name) => name !== "seq");
  const key: readonly string[] = keys[table];
  const set = [
    ...own
      .filter((name) => !key.includes(name))
      .map((name) => `${quoted(name)} = excluded.${quoted(name)}`),
    ...(table === "vaults" ? ["version = vaults.version + 1"] : []),
  ];
  const then = set.length === 0 ? "NOTHING" : `UPDATE SET ${set.join(", ")}`;
  return `INSERT INTO ${dialect.prefix}${table} (${own.map(quoted).join(", ")})
    SELECT ${own.map(items.column).join(", ")} FROM ${from}, ${items.from}
    WHERE true ORDER BY n ${table === "journal" ? "" : `ON CONFLICT (${key.join(", ")}) DO ${then}`}`;
}

/** Records a fact in `meta`; a mark as JSON. */
export const marking = (prefix: string, name: string, value: string): Statement => ({
  sql: `INSERT INTO ${prefix}meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  values: [name, value],
});

/** A column in SQL: named like the fields of records, whose case PostgreSQL would fold. */
export const quoted = (column: string): string => `"${column}"`;

/**
 * Differences of the engines' tables: types of a vault's number, a fraction and epoch milliseconds;
 * an entry's number; columns of a lease; what follows a table, and one with its rows by key.
 */
type Own = Record<"id" | "real" | "time" | "journalSeq" | "lease" | "strict" | "keyed", string>;

/** SQL for the tables of both engines, with a prefix for names. A second run changes nothing. */
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

const breakerNames = Object.keys(closed) as (keyof Breaker)[];

export const breakerOf = (prefix: string, service: string): Statement => ({
  sql: `SELECT ${breakerNames.map(quoted).join(", ")} FROM ${prefix}breakers WHERE service = $1`,
  values: [service],
});

export const breakerIn = ([row]: readonly unknown[]): Breaker =>
  row === undefined ? closed : { ...(row as Breaker) };

/** SQL that writes a breaker if it is still as read and `from` has a row; returns a row then. */
export function replacing(
  dialect: Dialect,
  service: string,
  before: Breaker,
  breaker: Breaker,
  from: string,
  put: Put,
): string {
  const list = put(JSON.stringify([{ service, ...breaker }]));
  const columns = ["service", ...breakerNames];
  return `${inserting(dialect, "breakers", columns, list, from)}
    WHERE breakers.version = ${put(before.version)} RETURNING 1 AS done`;
}

/**
 * In SQL, whether the breaker is as a start has seen it: open for the trial that it claims, or else
 * closed. `lock` keeps that row so until it is claimed.
 */
export const isAsSeen = (
  prefix: string,
  service: string,
  { breaker, claim }: Seen,
  put: Put,
  lock = "",
): string =>
  claim === null
    ? `NOT EXISTS (SELECT 1 FROM ${prefix}breakers WHERE service = ${put(service)} AND "lostAt" IS NOT NULL)`
    : `EXISTS (SELECT 1 FROM ${prefix}breakers WHERE service = ${put(service)} AND version = ${put(breaker.version)} ${lock})`;

/** How long journal entries are kept, and what runs have begun. */
const journalDays = 400;

/** How overdue the oldest entry must be before anything is removed, so that pruning is rare. */
const slackDays = 30;

const day = 86_400_000;

export interface JournalEntry {
  at: string;
  service: string;
  uuid: string;
  exchange: string | null;
  event: string;
  /** Never holds a secret. */
  detail: Record<string, unknown>;
}

/** SQL that appends journal entries in order, if `from` has a row; returns a row for each. */
export function appending(
  dialect: Dialect,
  entries: readonly JournalEntry[],
  from: string,
  put: Put,
): string {
  const list = entries.map((entry) => ({ ...entry, detail: JSON.stringify(entry.detail) }));
  const columns = ["at", "service", "uuid", "exchange", "event", "detail"];
  return `${inserting(dialect, "journal", columns, put(JSON.stringify(list)), from)} RETURNING 1 AS done`;
}

/** Appends an entry of a writer without a vault's lock: about the state, if it names no vault. */
export const appendingAlone = (
  dialect: Dialect,
  entry: Pick<JournalEntry, "at" | "event" | "detail"> & Partial<JournalEntry>,
): Statement => {
  const whole = { service: "", uuid: "", exchange: null, ...entry };
  return written((put) => appending(dialect, [whole], dialect.open, put));
};

/** Removes entries and runs' exchanges that are kept no longer (exchange ids sort by time), if any. */
export function pruning(
  prefix: string,
  oldest: string | null | undefined,
  now: number,
): Statement[] {
  if (!oldest || Date.parse(oldest) >= now - (journalDays + slackDays) * day) return [];
  const before = new Date(now - journalDays * day);
  return [
    marking(prefix, "journal-from", before.toISOString()),
    { sql: `DELETE FROM ${prefix}journal WHERE at < $1`, values: [before.toISOString()] },
    { sql: `DELETE FROM ${prefix}runs WHERE exchange < $1`, values: [firstIdAt(before.getTime())] },
  ];
}
