import { mergeVault } from "../../../../src/store/backup/merge/merge-vault.ts";
import type { CredentialsRow, ExchangeRow, VaultRows } from "../../../../src/store/steps/rows.ts";
import { lower, service } from "../../../contract/store-fixture.ts";
import type { Exchange, Generation, Store } from "../state.ts";

/** A row that still has what it was made of. */
type Of<Row, Source> = Row & { source: Source };

/** What numbers are tells their order, and so their time. */
const at = (n: number): string => new Date(n).toISOString();

/**
 * As the program merges a backup into the present state: its own function, on rows made of the model. Whether the tokens of the
 * backup live is the world's choice. Returns the state, and the next number that is free.
 */
export function restored(
  backup: Store,
  present: Store,
  fresh: number,
  isTokenAlive: boolean,
): { store: Store; fresh: number } {
  const rows = rowsOf(present, fresh);
  const now = isTokenAlive ? 0 : Number.MAX_SAFE_INTEGER;
  mergeVault(rows, rowsOf(backup, fresh), { serviceRestored: false, now, superseded: new Set() });
  const { vault, credentials, exchanges, refusals } = rows;
  if (vault === null) return { store: present, fresh };
  const store: Store = {
    ...present,
    generations: credentials.map(generationIn),
    exchanges: exchanges.map(exchangeIn),
    refused: [...new Set([...refusals.keys()].map(Number))],
    unacked: vault.unacked_starts,
    failed: vault.failed_attempts,
    possibly: vault.possibly_failed,
    limited: present.limited || backup.limited,
    proof: present.proof ?? backup.proof,
  };
  return { store, fresh: vault.last_generation + 1 };
}

function rowsOf(store: Store, fresh: number): VaultRows {
  const isKnown =
    store.exchanges.length > 0 || store.generations.some((g) => g.standing !== "superseded");
  const credentials = store.generations.filter((g) => isKnown || g.standing !== "superseded");
  const live = credentials.filter((g) => g.standing !== "superseded").map((g) => g.pair);
  const superseded = store.generations
    .filter((g) => !live.includes(g.pair))
    .map((g) => String(g.pair));
  const proven = store.exchanges.findLast((e) => e.next !== null && !e.adopted);
  const nothing = {
    label: null,
    uses_remaining: null,
    expiry_date: null,
    auto_lock_date: null,
    date_created: null,
    last_modified: null,
  };
  const rows: VaultRows = {
    service,
    uuid: lower,
    at: at(fresh),
    vault: {
      service,
      uuid: lower,
      kind: "generic/offline",
      last_generation: fresh,
      unacked_starts: store.unacked,
      failed_attempts: store.failed,
      possibly_failed: store.possibly,
      unanswered_starts: 0,
      quiet_starts: 0,
      refused_since: 0,
      proven_at: proven === undefined ? null : at(proven.id),
      proof_expiry: store.proof === null ? null : at(store.proof),
      limited: Number(store.limited),
      last_error: null,
      forgotten: Number(!isKnown),
      ...nothing,
    },
    credentials: credentials.map(credentialsRow),
    exchanges: store.exchanges.map(exchangeRow),
    superseded: new Set(superseded),
    refusals: new Map(store.refused.map((pair) => [String(pair), String(pair)])),
    seen: null,
    journal: [],
  };
  return store.generations.length === 0 && !isKnown ? { ...rows, vault: null } : rows;
}

const credentialsRow = (source: Generation): Of<CredentialsRow, Generation> => ({
  generation: source.number,
  standing: source.standing,
  proven: Number(source.proven),
  sealed: String(source.pair),
  fingerprint: String(source.pair),
  device: null,
  created_at: at(source.number),
  elsewhere: Number(source.elsewhere),
  refused: Number(source.refused),
  placed: source.placed,
  ended: 0,
  source,
});

function generationIn(row: CredentialsRow): Generation {
  const { source } = row as Of<CredentialsRow, Generation>;
  const { generation: number, standing, placed, proven, elsewhere, refused } = row;
  return {
    ...source,
    number,
    standing,
    placed,
    proven: proven === 1,
    elsewhere: elsewhere === 1,
    refused: refused === 1,
  };
}

const exchangeRow = (source: Exchange): Of<ExchangeRow, Exchange> => ({
  id: String(source.id),
  operation: source.operation,
  kind: "generic/offline",
  state: source.state,
  external_ref: "",
  base_generation: source.base,
  new_generation: source.next,
  started_at: at(source.id),
  token: ["started", "held", "ending", "in-doubt"].includes(source.state) ? "token" : null,
  token_expiry: source.next === null ? null : at(source.next),
  uses_remaining: null,
  limited: Number(source.limited),
  hold_reason: null,
  delivered: Number(source.delivered),
  save_owed: Number(source.saveOwed),
  ends_unanswered: source.ends,
  acknowledged_at: source.state === "acknowledged" ? at(source.next ?? source.id) : null,
  counted_start: source.countedStart,
  counted_failed: source.countedFailed,
  adopted: Number(source.adopted),
  run: null,
  digest: null,
  given: null,
  delivery: null,
  begun_by: null,
  source,
});

function exchangeIn(row: ExchangeRow): Exchange {
  const { source } = row as Of<ExchangeRow, Exchange>;
  const {
    state,
    base_generation: base,
    new_generation: next,
    ends_unanswered: ends,
    adopted,
  } = row;
  const counted = { countedStart: row.counted_start, countedFailed: row.counted_failed };
  return { ...source, ...counted, state, base, next, ends, adopted: adopted === 1 };
}
