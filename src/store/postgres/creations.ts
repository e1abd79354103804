import type { Creation, ErrorNote, InterruptedCreation } from "../../exchange/records.ts";
import type { Row, Statement } from "./connection.ts";
import { journalEntry } from "./write-vault.ts";

/** The journal of vaults that are created, as in SQLite (journal/creations.ts). Each function is a part of the method of `Store` by its name. */
const outcomes = ["created", "create-refused", "create-unanswered", "create-told"];

export const beginCreation = (schema: string, { id, service, kind, externalRef }: Creation, at: string): Statement =>
  journalEntry(schema, { at, service, uuid: "", exchange: id, event: "creating", detail: { kind, externalRef } });

export function failCreation(schema: string, creation: Creation, event: string, error: ErrorNote, at: string): Statement {
  const { id, service, kind, externalRef } = creation;
  return journalEntry(schema, { at, service, uuid: "", exchange: id, event, detail: { kind, externalRef, error } });
}

export const dismissCreation = (schema: string, { id, service, externalRef }: InterruptedCreation, at: string): Statement =>
  journalEntry(schema, { at, service, uuid: "", exchange: id, event: "create-told", detail: { externalRef } });

export const isCompleted = (schema: string, { id }: Creation): Statement => ({
  sql: `SELECT 1 AS there FROM ${schema}.journal WHERE exchange = $1 AND event = 'created'`,
  values: [id],
});

export const interruptedCreations = (schema: string, service: string): Statement => ({
  sql: `SELECT exchange, at, detail FROM ${schema}.journal AS first WHERE service = $1 AND event = 'creating' AND NOT EXISTS (
    SELECT 1 FROM ${schema}.journal WHERE exchange = first.exchange AND seq > first.seq AND event = ANY ($2)) ORDER BY seq`,
  values: [service, outcomes],
});

export function interruptedCreation(service: string, row: Row): InterruptedCreation {
  const { exchange: id, at: startedAt, detail } = row as { exchange: string; at: string; detail: string };
  const { kind, externalRef } = JSON.parse(detail) as Pick<Creation, "kind" | "externalRef">;
  return { id, service, kind, externalRef, startedAt };
}
