import type { Breaker, ServiceBreaker } from "../exchange/breaker.ts";
import { closed } from "../exchange/breaker.ts";
import type { Statement } from "./steps/changes.ts";

/** A row of `breakers`. A service that has none never failed to answer a start. */
export interface BreakerRow {
  service: string;
  version: number;
  lost_at: number | null;
  lost_trials: number;
  hint: Breaker["hint"];
  http_status: number | null;
  content_type: string | null;
  closed_at: number;
}

/** The columns beside the service, in the order of `valuesOf`. */
export const breakerColumns = [
  "version",
  "lost_at",
  "lost_trials",
  "hint",
  "http_status",
  "content_type",
  "closed_at",
] as const;

export const valuesOf = (breaker: Breaker): (string | number | null)[] => [
  breaker.version,
  breaker.lostAt,
  breaker.lostTrials,
  breaker.hint,
  breaker.httpStatus,
  breaker.contentType,
  breaker.closedAt,
];

export const breakerIn = (row: BreakerRow | undefined): Breaker =>
  row === undefined
    ? closed
    : {
        version: row.version,
        lostAt: row.lost_at,
        lostTrials: row.lost_trials,
        hint: row.hint,
        httpStatus: row.http_status,
        contentType: row.content_type,
        closedAt: row.closed_at,
      };

export const breakerOf = (prefix: string, service: string): Statement => ({
  sql: `SELECT * FROM ${prefix}breakers WHERE service = $1`,
  values: [service],
});

export const allBreakers = (prefix: string): Statement => ({
  sql: `SELECT * FROM ${prefix}breakers`,
});

/** What one process last saw of the breakers of a state, by service. */
export class KnownBreakers {
  readonly #known = new Map<string, Breaker>();

  of(service: string): Breaker {
    return this.#known.get(service) ?? closed;
  }

  /** Returns what was seen. */
  note(service: string, breaker: Breaker): Breaker {
    this.#known.set(service, breaker);
    return breaker;
  }
}

/** How an engine reads and writes the row of a breaker. */
interface BreakerPlace {
  read(): Promise<Breaker>;
  /** As `ServiceBreaker.change`. */
  change(change: (breaker: Breaker) => Breaker): Promise<Breaker>;
  now(): number;
}

/** The breaker of a service, with what this process knows of it. */
export const storedBreaker = (
  known: KnownBreakers,
  service: string,
  place: BreakerPlace,
): ServiceBreaker => ({
  get known() {
    return known.of(service);
  },
  now: () => Math.round(place.now()),
  read: async () => known.note(service, await place.read()),
  change: async (change) => known.note(service, await place.change(change)),
});
