import type { Kind } from "../../protocol/endpoints.ts";
import type { JournalledOperation, Placed, Standing } from "../../exchange/records.ts";
import type { ExchangeState, HoldReason } from "../../exchange/states.ts";

/** Rows as the schema has them: truth values are 0 and 1, objects are JSON text. */
export interface VaultRow {
  id: number;
  service: string;
  uuid: string;
  kind: Kind;
  label: string | null;
  last_generation: number;
  unacked_starts: number;
  failed_attempts: number;
  possibly_failed: number;
  proven_at: string | null;
  proof_expiry: string | null;
  uses_remaining: number | null;
  limited: number;
  expiry_date: string | null;
  auto_lock_date: string | null;
  date_created: string | null;
  last_modified: string | null;
  last_error: string | null;
  forgotten: number;
}

export interface CredentialsRow {
  vault: number;
  generation: number;
  standing: Standing;
  proven: number;
  sealed: string | null;
  fingerprint: string;
  device: string | null;
  created_at: string;
  elsewhere: number;
  refused: number;
  placed: Placed | null;
}

export interface ExchangeRow {
  seq: number;
  vault: number;
  id: string;
  operation: JournalledOperation;
  kind: Kind;
  state: ExchangeState;
  external_ref: string;
  base_generation: number;
  new_generation: number | null;
  started_at: string;
  token: string | null;
  token_expiry: string | null;
  uses_remaining: number | null;
  limited: number;
  hold_reason: HoldReason | null;
  delivered: number;
  save_owed: number;
  ends_unanswered: number;
  acknowledged_at: string | null;
  counted_start: number;
  counted_failed: number;
  adopted: number;
}
