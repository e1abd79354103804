import type { Creation } from "../../exchange/records.ts";
import { creationOutcomes } from "../journal/creations.ts";
import type { JournalEntry } from "../journal/journal.ts";
import { isPruned } from "../journal/journal.ts";
import type { Statement } from "./connection.ts";

/** Appends to the journal, in the transaction that makes the change. */
export const append = (
  schema: string,
  { at, service, uuid, exchange, event, detail }: JournalEntry,
): Statement => ({
  sql: `INSERT INTO ${schema}.journal (at, service, uuid, exchange, event, detail) VALUES ($1, $2, $3, $4, $5, $6)`,
  values: [at, service, uuid, exchange, event, JSON.stringify(detail)],
});

/** The `creating` entries of a service without an outcome, oldest first. */
export const interruptedCreations = (schema: string, service: string): Statement => ({
  sql: `SELECT exchange, at, detail FROM ${schema}.journal AS first WHERE service = $1 AND event = 'creating' AND NOT EXISTS (
    SELECT 1 FROM ${schema}.journal WHERE exchange = first.exchange AND seq > first.seq AND event = ANY ($2)) ORDER BY seq`,
  values: [service, creationOutcomes],
});

/** A row if the creation was completed. */
export const completed = (schema: string, { id }: Creation): Statement => ({
  sql: `SELECT 1 AS there FROM ${schema}.journal WHERE exchange = $1 AND event = 'created'`,
  values: [id],
});

/** Removes journal entries and ended exchanges from before that time. */
export const prune = (schema: string, before: string): Statement[] => [
  { sql: `DELETE FROM ${schema}.journal WHERE at < $1`, values: [before] },
  {
    sql: `DELETE FROM ${schema}.exchanges WHERE started_at < $1 AND ${isPruned(`${schema}.exchanges`)}`,
    values: [before],
  },
];
