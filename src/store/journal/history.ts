import type { Clock } from "../../exchange/ports.ts";
import { openForReading } from "../sqlite/read-only.ts";
import type { JournalLine } from "./items.ts";
import { journalLines } from "./items.ts";
import type { Near, OwnExchange } from "./own-exchanges.ts";
import { OwnExchanges } from "./own-exchanges.ts";

/** What this machine has done, on one snapshot. */
interface StateHistory {
  /** Oldest first. */
  journal(): Iterable<JournalLine>;
  /** The exchange with this external reference: see `OwnExchanges.find`. */
  own(externalRef: string, near?: Near): OwnExchange | undefined;
  close(): void;
}

/**
 * Opens the journal read only; null where there is no state. Makes nothing, needs no key.
 * @throws `state`
 */
export async function openHistory(directory: string, clock: Clock): Promise<StateHistory | null> {
  const db = await openForReading(directory, clock);
  if (db === null) return null;
  const exchanges = new OwnExchanges(db);
  return { journal: () => journalLines(db), own: (externalRef, near) => exchanges.find(externalRef, near), close: () => db.close() };
}
