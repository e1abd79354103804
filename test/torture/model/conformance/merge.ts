import { mergeContents } from "../../../../src/store/backup/merge/merge-contents.ts";
import type { ContentRow, Contents } from "../../../../src/store/contents.ts";
import type { CredentialsRow, ExchangeRow, VaultRow } from "../../../../src/store/steps/rows.ts";
import { lower, service } from "../../../contract/store-fixture.ts";
import { client } from "../client.ts";
import type { Exchange, Generation, Store } from "../state.ts";
import { emptyStore, generationOf, openOf, openStates } from "../state.ts";
import { isSuperseded } from "../store.ts";

/** What numbers are tells their order, and so their time. */
const at = (n: number): string => new Date(n).toISOString();
const vaultOf = { service, uuid: lower };

/** What the program makes of a backup that is restored into a state, both of them put into rows of the model's. */
export function mergedByProgram(
  file: Store,
  here: Store,
  fresh: number,
  isTokenAlive: boolean,
): Store {
  const { after } = mergeContents(contentsOf(here, fresh), contentsOf(file, fresh), {
    serviceRestored: false,
    now: isTokenAlive ? 0 : 1e12,
  });
  return storeIn(after);
}

function contentsOf(store: Store, fresh: number): Contents {
  const { generations, exchanges } = store;
  const isKept = exchanges.length > 0 || generations.some((g) => g.standing !== "superseded");
  const pairs = [...new Set(generations.map(({ pair }) => pair))];
  const isKnown = JSON.stringify(store) !== JSON.stringify(emptyStore());
  const of = (row: object): ContentRow => ({ ...vaultOf, ...row });
  const proven = exchanges.findLast((each) => each.next !== null && !each.adopted);
  const vault: Partial<VaultRow> = {
    kind: "generic/offline",
    label: null,
    last_generation: fresh,
    unacked_starts: store.unacked,
    failed_attempts: store.failed,
    possibly_failed: store.possibly,
    unanswered_starts: store.unanswered,
    quiet_starts: store.quiet,
    refused_since: Number(store.refusedSince),
    proven_at: proven === undefined ? null : at(proven.id),
    proof_expiry: store.proof === null ? null : at(store.proof),
    limited: Number(store.limited),
    last_error: null,
    forgotten: Number(!isKept),
  };
  return {
    vaults: isKnown ? [of(vault)] : [],
    credentials: isKept ? generations.map((each) => of(credentialsRow(each))) : [],
    exchanges: exchanges.map((each) => of(exchangeRow(store, each))),
    superseded: pairs
      .filter((pair) => isSuperseded(store, pair))
      .map((pair) => of({ fingerprint: String(pair) })),
    refusals: store.refused.map((pair) =>
      of({ combination: String(pair), fingerprint: String(pair) }),
    ),
    journal: [],
    breakers: [],
  };
}

const credentialsRow = (generation: Generation): CredentialsRow => ({
  generation: generation.number,
  standing: generation.standing,
  proven: Number(generation.proven),
  sealed: String(generation.pair),
  fingerprint: String(generation.pair),
  device: null,
  created_at: "",
  elsewhere: Number(generation.elsewhere),
  refused: Number(generation.refused),
  placed: generation.placed,
  ended: Number(generation.ended),
});

const exchangeRow = (store: Store, exchange: Exchange): Partial<ExchangeRow> => ({
  id: String(exchange.id),
  operation: exchange.operation,
  state: exchange.state,
  base_generation: exchange.base,
  new_generation: exchange.next,
  started_at: at(exchange.id),
  token: openStates.includes(exchange.state) ? "token" : null,
  // The number of a pair tells when it was handed out.
  token_expiry: exchange.next === null ? null : at(generationOf(store, exchange.next)?.pair ?? 0),
  limited: Number(exchange.limited),
  delivered: Number(exchange.delivered),
  save_owed: Number(exchange.saveOwed),
  ends_unanswered: exchange.ends,
  counted_start: exchange.countedStart,
  counted_failed: exchange.countedFailed,
  adopted: Number(exchange.adopted),
});

function storeIn(contents: Contents): Store {
  const [vault] = contents.vaults as unknown as VaultRow[];
  const superseded = contents.superseded.map(({ fingerprint }) => Number(fingerprint));
  const kept = (contents.credentials as unknown as CredentialsRow[])
    .map(generationIn)
    // Of those that are neither superseded nor kept only exchanges name the number.
    .filter(({ pair, standing }) => standing !== "superseded" || superseded.includes(pair));
  const others = superseded.filter((pair) => !kept.some((each) => each.pair === pair));
  const counted = (column: keyof VaultRow): number => Number(vault?.[column] ?? 0);
  const proof = vault?.proof_expiry ?? null;
  return {
    generations: [...others.map(forgottenPair), ...kept],
    refused: contents.refusals.map(({ combination }) => Number(combination)),
    exchanges: (contents.exchanges as unknown as ExchangeRow[]).map(exchangeIn),
    unacked: counted("unacked_starts"),
    failed: counted("failed_attempts"),
    possibly: counted("possibly_failed"),
    unanswered: counted("unanswered_starts"),
    quiet: counted("quiet_starts"),
    refusedSince: counted("refused_since") === 1,
    limited: counted("limited") === 1,
    breaker: { isOpen: false, isHinted: false, closedAfter: 0 },
    proof: proof === null ? null : Date.parse(proof),
  };
}

const generationIn = (row: CredentialsRow): Generation => ({
  number: row.generation,
  pair: Number(row.fingerprint),
  standing: row.standing,
  proven: row.proven === 1,
  elsewhere: row.elsewhere === 1,
  refused: row.refused === 1,
  placed: row.placed,
  ended: row.ended === 1,
});

const forgottenPair = (pair: number): Generation => ({
  number: -pair,
  pair,
  standing: "superseded",
  proven: false,
  elsewhere: false,
  refused: false,
  placed: null,
  ended: false,
});

const exchangeIn = (row: ExchangeRow): Exchange => ({
  id: Number(row.id),
  operation: row.operation === "update" ? "update" : "get",
  state: row.state,
  base: row.base_generation,
  next: row.new_generation,
  delivered: row.delivered === 1,
  saveOwed: row.save_owed === 1,
  ends: row.ends_unanswered,
  limited: row.limited === 1,
  countedStart: row.counted_start,
  countedFailed: row.counted_failed,
  adopted: row.adopted === 1,
  seen: false,
  arrived: false,
});

/** All that can be told of a state, without the numbers that it gives: two are the same, if these are equal. */
export function toldOf(store: Store): unknown {
  const pairOf = (number: number | null): number => generationOf(store, number)?.pair ?? 0;
  const open = openOf(store);
  // Of those that are kept, in the order in which starts would try them if nothing were open.
  const closed = { ...store, exchanges: store.exchanges.filter((each) => each !== open) };
  const { unacked, unanswered, failed, possibly, quiet, refusedSince, limited, proof } = store;
  return {
    counters: { unacked, unanswered, failed, possibly, quiet, refusedSince },
    limited,
    proof,
    refused: store.refused.toSorted(),
    superseded: [...new Set(store.generations.map(({ pair }) => pair))]
      .filter((pair) => isSuperseded(store, pair))
      .toSorted(),
    tried: client.candidates(store).map(pairOf),
    kept: client.candidates(closed).map((number) => {
      const { pair, standing, placed, proven, elsewhere, refused, ended } = generationOf(
        store,
        number,
      ) as Generation;
      return { pair, standing, placed, proven, elsewhere, refused, ended };
    }),
    isLastLeft: store.exchanges.at(-1)?.state === "intent",
    exchanges: store.exchanges
      .toSorted((a, b) => a.id - b.id)
      .map(({ id, state, base, next, ends, adopted, countedStart, countedFailed }) =>
        // Of those that have ended nobody asks what they began with, and what they have counted.
        ["acknowledged", "discarded", "rejected"].includes(state)
          ? [id, state, adopted]
          : [id, state, adopted, ends, countedStart, countedFailed, pairOf(base), pairOf(next)],
      ),
  };
}
