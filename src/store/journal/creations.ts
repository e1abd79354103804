import type { Creation, ErrorNote, InterruptedCreation } from "../../exchange/records.ts";
import type { JournalEntry } from "./journal.ts";

/**
 * A vault that is being created has no uuid yet, and so neither a row nor a lock: the journal has an entry before the call, and one of
 * these for its outcome.
 */
export const creationOutcomes = [
  "created",
  "create-refused",
  "create-unanswered",
  "create-told",
] as const;

/** The entry before the call (`creating`), or the one for its outcome. */
export function creationEntry(
  { id, service, kind, externalRef }: Creation,
  event: "creating" | "create-refused" | "create-unanswered",
  at: string,
  error?: ErrorNote,
): JournalEntry {
  return {
    at,
    service,
    uuid: "",
    exchange: id,
    event,
    detail: { kind, externalRef, ...(error && { error }) },
  };
}

/** The entry that says that the user was told of an interrupted creation. */
export const dismissal = (
  { id, service, externalRef }: InterruptedCreation,
  at: string,
): JournalEntry => ({
  at,
  service,
  uuid: "",
  exchange: id,
  event: "create-told",
  detail: { externalRef },
});

/** An interrupted creation, from its `creating` entry. */
export function interruptedCreation(
  service: string,
  row: { exchange: string; at: string; detail: string },
): InterruptedCreation {
  const { kind, externalRef } = JSON.parse(row.detail) as Pick<Creation, "kind" | "externalRef">;
  return { id: row.exchange, service, kind, externalRef, startedAt: row.at };
}
