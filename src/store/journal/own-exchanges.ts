import type { DatabaseSync } from "node:sqlite";
import { all, one } from "../sqlite/query.ts";
import { defined } from "../../defined.ts";

/** An exchange as the journal tells of it, also where its vault was forgotten since. */
export interface OwnExchange {
  id: string;
  operation: string;
  /** Of the credentials that it sent. */
  generation: number;
  state: string;
  /** ISO 8601. */
  startedAt: string;
  /** ISO 8601; when these credentials were superseded, if they were: before it was started, or else after it. */
  supersededAt?: string;
}

/** What tells exchanges of one reference apart. */
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

/** Generations that an entry of the journal names. */
interface Step extends Record<"current" | "used" | "made", number | null> {
  seq: number;
  at: string;
}

/**
 * Exchanges by their external reference. The journal has no index for that, and is not to be changed: what is asked of it is
 * drawn out into a temporary table at the first question.
 */
export class OwnExchanges {
  readonly #db: DatabaseSync;
  #drawn = false;

  /** A connection for reading will do. */
  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Of several with this reference, the one of that vault which was started nearest to that time; without a time the last one. */
  find(externalRef: string, { vault, at }: Near = {}): OwnExchange | undefined {
    if (externalRef === "") return undefined;
    this.#draw();
    const found = all<Beginning>(
      this.#db,
      "SELECT seq, at, vault, exchange, operation, used AS generation FROM own_steps WHERE ref = ? ORDER BY seq DESC",
      externalRef,
    ).filter((each) => vault === undefined || each.vault.endsWith(` ${vault}`));
    const distance = (each: Beginning): number => Math.abs(Date.parse(each.at) - (at ?? 0));
    const chosen = at === undefined ? found[0] : found.toSorted((a, b) => distance(a) - distance(b))[0];
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
      // One that was taken over waits for its end call.
      state: state === undefined || state === "adopted" ? "ending" : state,
      startedAt: at,
      ...defined({ supersededAt }),
    };
  }

  /** A pair is superseded by the success of a rival, and alive again by its own. */
  #supersededAt(vault: string, generation: number, start: number): string | undefined {
    let isKnown = false;
    let superseded: string | undefined;
    const steps = all<Step>(this.#db, "SELECT seq, at, current, used, made FROM own_steps WHERE vault = ? ORDER BY seq", vault);
    for (const { seq, at, current, used, made } of steps) {
      if (seq > start && superseded !== undefined) break;
      isKnown ||= [current, used, made].includes(generation);
      if (current === generation) superseded = undefined;
      else if (current !== null && isKnown) superseded ??= at;
    }
    return superseded;
  }

  /** `ref` stands where an exchange begins; `current` where a pair has proven to be the valid one; `made` where one was added. */
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
