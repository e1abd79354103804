import type { Actor } from "../../actor.ts";
import type { JournalledOperation, PastExchange } from "../../exchange/records.ts";
import type { ExchangeState } from "../../exchange/states.ts";
import { exchangeStates } from "../../exchange/states.ts";
import type { Statement } from "../statement.ts";

/** The entries about the exchanges of a vault, or about one of them, newest first. */
export const entriesOf = (
  prefix: string,
  service: string,
  uuid: string,
  exchange: string | undefined,
): Statement => ({
  sql: `SELECT at, exchange, event, detail FROM ${prefix}journal
    WHERE service = $1 AND uuid = $2 AND exchange = coalesce($3, exchange) ORDER BY seq DESC LIMIT 1000`,
  values: [service, uuid.toLowerCase(), exchange ?? null],
});

/** A row of `entriesOf`. */
export type Entry = Record<"at" | "exchange" | "event" | "detail", string>;

/** The exchanges that entries tell of, newest first; without those of which the start was never sent. */
export function pastExchanges(entries: readonly Entry[]): PastExchange[] {
  const byId = [...Map.groupBy(entries, ({ exchange }) => exchange).values()];
  return byId.flatMap((own): PastExchange[] => {
    const last = own.find(({ event }) => (exchangeStates as readonly string[]).includes(event));
    const first = own.findLast(({ event }) => event === "intent" || event === "adopted");
    if (last === undefined || first === undefined) return [];
    const [ended, begun] = [last, first].map(({ detail }) => JSON.parse(detail) as Detail);
    if (ended?.takenBack === true || begun === undefined) return [];
    return [
      {
        exchange: {
          id: first.exchange,
          operation: begun.operation,
          state: last.event as ExchangeState,
          externalRef: begun.externalRef ?? "",
          startedAt: first.at,
          tokenExpiry: null,
          generation: null,
          by: begun.by ?? null,
        },
        changedAt: last.at,
        changedBy: ended?.by ?? null,
      },
    ];
  });
}

interface Detail {
  operation: JournalledOperation;
  externalRef?: string;
  by?: Actor;
  takenBack?: boolean;
}
