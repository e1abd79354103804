import type { Clock } from "../../exchange/ports.ts";
import { openForReading } from "../sqlite/read-only.ts";
import type { JournalLine } from "./items.ts";
import { journalLines } from "./items.ts";
import type { Near, OwnExchange } from "./own-exchanges.ts";
import { OwnExchanges } from "./own-exchanges.ts";

/** A snapshot of what this machine has done. */
interface StateHistory {
  /** Oldest first. */
  journal(): Iterable<JournalLine>;
  /** Finds an exchange by its external reference, as `OwnExchanges.find`. */
  own(externalRef: string, near?: Near): OwnExchange | undefined;
  close(): void;
}

/**
 * Opens the journal read-only; null if there is no state. Creates nothing and needs no key.
 * @throws `state`
 */
export async function openHistory(directory: string, clock: Clock): Promise<StateHistory | null> {
  const db = await openForReading(directory, clock);
  if (db === null) return null;
  const exchanges = new OwnExchanges(db);
  return { journal: () => journalLines(db), own: (externalRef, near) => exchanges.find(externalRef, near), close: () => db.close() };
}
