import type { DatabaseSync } from "node:sqlite";
import type { Creation, ErrorNote, InterruptedCreation } from "../../exchange/records.ts";
import { append } from "./journal.ts";
import { all, listed } from "../sqlite/query.ts";

/**
 * A vault that is being created has no uuid yet, and so neither a row nor a lock: the journal has an entry before the call and
 * one of these for its outcome. Each function implements the method of `Store` by its name.
 */
const outcomes = ["created", "create-refused", "create-unanswered", "create-told"] as const;

export function beginCreation(db: DatabaseSync, { id, service, kind, externalRef }: Creation, at: string): void {
  append(db, { at, service, uuid: "", exchange: id, event: "creating", detail: { kind, externalRef } });
}

export function failCreation(
  db: DatabaseSync,
  creation: Creation,
  event: "create-refused" | "create-unanswered",
  error: ErrorNote,
  at: string,
): void {
  const { id, service, kind, externalRef } = creation;
  append(db, { at, service, uuid: "", exchange: id, event, detail: { kind, externalRef, error } });
}

export function interruptedCreations(db: DatabaseSync, service: string): InterruptedCreation[] {
  const rows = all<{ exchange: string; at: string; detail: string }>(
    db,
    "SELECT exchange, at, detail FROM journal AS first WHERE service = ? AND event = 'creating' AND NOT EXISTS (SELECT 1 FROM journal " +
      `WHERE exchange = first.exchange AND seq > first.seq AND event IN (${listed(outcomes)})) ORDER BY seq`,
    service,
  );
  return rows.map(({ exchange, at, detail }) => {
    const { kind, externalRef } = JSON.parse(detail) as Pick<Creation, "kind" | "externalRef">;
    return { id: exchange, service, kind, externalRef, startedAt: at };
  });
}

export function dismissCreation(db: DatabaseSync, { id, service, externalRef }: InterruptedCreation, at: string): void {
  append(db, { at, service, uuid: "", exchange: id, event: "create-told", detail: { externalRef } });
}
