import type { ServiceBreaker } from "../../../src/exchange/breaker.ts";
import type { VaultSession } from "../../../src/exchange/ports.ts";
import type { CredentialsRow, ExchangeRow, VaultRow } from "../../../src/store/steps/rows.ts";

export type Row = Record<string, string | number | null>;

/** The rows of a vault that a model gives; their columns are those of both engines. */
interface ModelRows {
  vault: Row;
  credentials: Row[];
  /** In their order. */
  exchanges: Row[];
  superseded: Row[];
  refusals: Row[];
  breaker: BreakerTimes;
}

/** When the circuit breaker has opened, null where it is closed; when it was last closed; and whether an answer let a trial out. */
export interface BreakerTimes {
  lostAt: number | null;
  closedAt: number;
  hint: "none" | "given" | "used";
}

/** The rows of one vault in a real state. */
export interface RealRows {
  /** Id of the state to which sealed values are bound, if it is a shared one. */
  readonly state?: string;
  /** Holds the vault with the rows as they were written. */
  readonly session: VaultSession;
  /** Of its service. */
  readonly breaker: ServiceBreaker;
  write(rows: ModelRows): Promise<void>;
  read(): Promise<{
    vault: VaultRow;
    /** Those of which the pair is kept. */
    credentials: CredentialsRow[];
    exchanges: ExchangeRow[];
    refusals: { combination: string }[];
    breaker: BreakerTimes;
  }>;
  close(): Promise<void>;
}
