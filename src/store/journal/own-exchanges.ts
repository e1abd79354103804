import type { DatabaseSync } from "node:sqlite";
import { all, one } from "../sqlite/query.ts";
import { defined } from "../../defined.ts";

/** An exchange as the journal records it, even if its vault was forgotten since. */
export interface OwnExchange {
  id: string;
  operation: string;
  /** Generation of the credentials that it sent. */
  generation: number;
  state: string;
  /** ISO 8601. */
  startedAt: string;
  /** When these credentials were superseded, before the exchange began or else after; ISO 8601. */
  supersededAt?: string;
}

/** What distinguishes exchanges with the same reference. */
export interface Near {
  /** In lower case. */
  vault?: string;
  /** Milliseconds since the epoch. */
  at?: number;
}

interface Beginning {
  seq: number;
  at: string;
  vault: string;
  exchange: string;
  operation: string;
  generation: number;
}

/** A journal entry, with the generations that it names. */
interface Step extends Record<"current" | "used" | "made", number | null> {
  seq: number;
  at: string;
}

/**
 * Finds exchanges by their external reference. The journal has no index for it and must not change, so the first search copies
 * what it needs into a temporary table.
 */
export class OwnExchanges {
  readonly #db: DatabaseSync;
  #drawn = false;

  /** `db` may be read-only. */
  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Returns the exchange with this reference, of that vault, that began nearest to that time; without a time, the last one. */
  find(externalRef: string, { vault, at }: Near = {}): OwnExchange | undefined {
    if (externalRef === "") return undefined;
    this.#draw();
    const found = all<Beginning>(
      this.#db,
      "SELECT seq, at, vault, exchange, operation, used AS generation FROM own_steps WHERE ref = ? ORDER BY seq DESC",
      externalRef,
    ).filter((each) => vault === undefined || each.vault.endsWith(` ${vault}`));
    const distance = (each: Beginning): number => Math.abs(Date.parse(each.at) - (at ?? 0));
    const chosen =
      at === undefined ? found[0] : found.toSorted((a, b) => distance(a) - distance(b))[0];
    return chosen === undefined ? undefined : this.#describe(chosen);
  }

  #describe({ seq, at, vault, exchange, operation, generation }: Beginning): OwnExchange {
    const state = one<{ event: string }>(
      this.#db,
      "SELECT event FROM own_steps WHERE vault = ? AND exchange = ? ORDER BY seq DESC LIMIT 1",
      vault,
      exchange,
    )?.event;
    const supersededAt = this.#supersededAt(vault, generation, seq);
    return {
      id: exchange,
      operation,
      generation,
      // An adopted exchange waits for its end call.
      state: state === undefined || state === "adopted" ? "ending" : state,
      startedAt: at,
      ...defined({ supersededAt }),
    };
  }

  /** When a generation was superseded: the success of a rival does that, and its own success reverts it. */
  #supersededAt(vault: string, generation: number, start: number): string | undefined {
    let isKnown = false;
    let superseded: string | undefined;
    const steps = all<Step>(
      this.#db,
      "SELECT seq, at, current, used, made FROM own_steps WHERE vault = ? ORDER BY seq",
      vault,
    );
    for (const { seq, at, current, used, made } of steps) {
      if (seq > start && superseded !== undefined) break;
      isKnown ||= [current, used, made].includes(generation);
      if (current === generation) superseded = undefined;
      else if (current !== null && isKnown) superseded ??= at;
    }
    return superseded;
  }

  /** Fills the table. `ref` is set where an exchange begins, `current` where a pair proved valid, `made` where one was added. */
  #draw(): void {
    if (this.#drawn) return;
    this.#drawn = true;
    this.#db.exec(`
      CREATE TEMP TABLE own_steps AS SELECT
        seq, at, service || ' ' || uuid AS vault, exchange, event, detail ->> 'operation' AS operation,
        CASE event WHEN 'intent' THEN detail ->> 'externalRef' WHEN 'adopted' THEN 'vault-' || exchange END AS ref,
        CASE event WHEN 'intent' THEN detail ->> 'generation' WHEN 'adopted' THEN detail ->> 'base' END AS used,
        CASE event WHEN 'started' THEN detail ->> 'base' WHEN 'acknowledged' THEN detail ->> 'generation' END AS current,
        CASE WHEN event IN ('imported', 'created', 'started', 'adopted') THEN detail ->> 'generation' END AS made
      FROM journal WHERE uuid <> '' AND event IN ('intent', 'started', 'held', 'ending', 'acknowledged', 'in-doubt', 'expired',
        'discarded', 'rejected', 'adopted', 'deleted', 'imported', 'created');
      CREATE INDEX temp.own_steps_by_ref ON own_steps (ref, seq) WHERE ref IS NOT NULL;
      CREATE INDEX temp.own_steps_by_vault ON own_steps (vault, seq);
    `);
  }
}
