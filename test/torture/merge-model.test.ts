import { describe, expect, it } from "vitest";
import { deriveKey } from "../../src/secrets/sealing.ts";
import { restoreVault } from "../../src/store/backup/restore-vault.ts";
import { forgotten, VaultRows } from "../../src/store/steps/rows.ts";
import type { CredentialsRow, ExchangeRow, VaultRow } from "../../src/store/steps/rows.ts";
import { lower, service } from "../contract/store-fixture.ts";
import { isWhole, sample, tried } from "../support/campaign.ts";
import { Dice } from "../support/dice.ts";
import { client } from "./model/client.ts";
import { restored } from "./model/holders/restore.ts";
import type { Exchange, Generation, Store } from "./model/state.ts";
import { copyStore, emptyStore, generationOf, openOf, openStates } from "./model/state.ts";
import { kind } from "./model/conformance/service.ts";
import {
  carriedOf,
  countsIn,
  credentialsRow,
  exchangeIn,
  exchangeRow,
  generationIn,
} from "./model/conformance/store.ts";
import {
  carry,
  counted,
  countedToCarry,
  isSuperseded,
  NotTaken,
  storeSteps as steps,
} from "./model/store.ts";

/** Two states that were one, and the next number that is free: it tells the order of what happens to both. */
interface Two {
  here: Store;
  there: Store;
  fresh: number;
  /** Up to this number all has happened to both, while they were one. */
  shared: number;
}
type Side = "here" | "there";
/** With how it has come to be, to be read. */
interface World {
  two: Two;
  told: string[];
}

/** Something that happens to one of them; `NotTaken` where it cannot. */
type Happening = (two: Two, side: Side) => void;

const next = (two: Two): number => (two.fresh += 1);

/** How far an exchange gets after ②. */
const ways: Record<string, (store: Store, id: number) => void> = {
  started: () => undefined,
  held: (store, id) => steps.held(store, id, { delivered: true, saveOwed: false }),
  ending: (store, id) => steps.ending(store, id, true),
  "in-doubt": (store, id) => steps.inDoubt(store, id),
  expired: (store, id) => steps.expired(store, id),
  acknowledged: (store, id) => steps.acknowledged(store, id),
};

/** Takes an exchange on; what an end call has settled comes after ③. */
function goOn(store: Store, id: number, way: string): void {
  if (["in-doubt", "expired", "acknowledged"].includes(way)) steps.ending(store, id, true);
  ways[way]?.(store, id);
}

/** A start with one of the candidates. */
function start(two: Two, side: Side, candidate: number): { store: Store; id: number } {
  const store = two[side];
  const id = next(two);
  const numbers = client.candidates(store);
  steps.intent(store, { id, operation: "get", base: numbers.at(candidate) ?? 0 });
  return { store, id };
}

const happenings: [string, Happening][] = [
  ...[0, -1].flatMap((candidate): [string, Happening][] => {
    const which = candidate === 0 ? "first" : "last";
    return [
      [`① with the ${which} candidate`, (two, side) => void start(two, side, candidate)],
      [
        `refused, the ${which} candidate`,
        (two, side) => {
          const { store, id } = start(two, side, candidate);
          steps.refused(store, id, true);
        },
      ],
      ...Object.keys(ways).map((way): [string, Happening] => [
        `${way}, with the ${which} candidate`,
        (two, side) => {
          const { store, id } = start(two, side, candidate);
          const pair = next(two);
          steps.started(store, id, { number: pair, pair, limited: false, elsewhere: false });
          goOn(store, id, way);
        },
      ]),
    ];
  }),
  [
    "taken back",
    (two, side) => {
      const { store, id } = start(two, side, 0);
      steps.takenBack(store, id);
    },
  ],
  ...Object.keys(ways).map((way): [string, Happening] => [
    `what is open goes on: ${way}`,
    (two, side) => {
      const open = openOf(two[side]);
      if (open === undefined) throw new NotTaken();
      if (open.state === "ending" && ["in-doubt", "expired", "acknowledged"].includes(way))
        ways[way]?.(two[side], open.id);
      else goOn(two[side], open.id, way);
    },
  ]),
  [
    "import of what nobody knows",
    (two, side) => {
      const pair = next(two);
      steps.importPair(two[side], { number: pair, pair });
    },
  ],
  [
    "import of what is tried first, with another hashedPin",
    (two, side) => {
      const store = two[side];
      const first = generationOf(store, client.candidates(store)[0] ?? null);
      if (first === undefined) throw new NotTaken();
      steps.importPair(store, { number: next(two), pair: first.pair, isSentWithOther: true });
    },
  ],
  [
    "import of what the other one tries first",
    (two, side) => {
      const other = two[side === "here" ? "there" : "here"];
      const pair = generationOf(other, client.candidates(other)[0] ?? null)?.pair;
      if (pair === undefined) throw new NotTaken();
      steps.importPair(two[side], { number: next(two), pair });
    },
  ],
  [
    "document of a successor",
    (two, side) => {
      const store = two[side];
      const old = generationOf(store, client.candidates(store)[0] ?? null)?.pair;
      if (old === undefined) throw new NotTaken();
      const [exchange, given] = [next(two), next(two)];
      const document = { exchange, operation: "get", old, new: given, unread: false } as const;
      steps.importDocument(store, document, [next(two), given]);
    },
  ],
  ["guard --reset --unanswered", (two, side) => steps.guardReset(two[side], "unanswered")],
  ["guard --reset --starts", (two, side) => steps.guardReset(two[side], { unacked: 2, failed: 1 })],
  [
    "forget",
    (two, side) => {
      const store = two[side];
      if (openOf(store) !== undefined) throw new NotTaken();
      store.generations = store.generations.filter((g) => g.standing === "superseded");
      const counts = countedToCarry(store);
      carry(store, counts);
      store.exchanges = [];
      if (counts.unacked + counts.failed === 0) Object.assign(store, { carried: null, upTo: null });
    },
  ],
];

/** Lets it happen; undefined where it cannot. */
function after(two: Two, side: Side, [, happening]: [string, Happening]): Two | undefined {
  const later = { ...two, [side]: copyStore(two[side]) };
  try {
    happening(later, side);
    return later;
  } catch (error) {
    if (error instanceof NotTaken) return undefined;
    throw error;
  }
}

function firstStates(): Two {
  const store = emptyStore();
  steps.importPair(store, { number: 1, pair: 1 });
  return { here: store, there: store, fresh: 1, shared: 0 };
}

const nothing: [string, Happening] = ["nothing", () => undefined];

/** After what has happened to both while they were one, and then to each; and where only one has the vault. */
function* worlds(): Generator<World> {
  const all = [nothing, ...happenings];
  for (const before of all) {
    const one = after(firstStates(), "here", before);
    if (one === undefined) continue;
    const both = { ...one, there: copyStore(one.here), shared: one.fresh };
    yield {
      two: { ...both, here: emptyStore(), shared: 0 },
      told: ["here: unknown", `there: ${before[0]}`],
    };
    yield { two: { ...both, there: emptyStore() }, told: [`here: ${before[0]}`, "there: unknown"] };
    for (const here of all) {
      const mine = after(both, "here", here);
      if (mine === undefined) continue;
      for (const there of all) {
        const two = after(mine, "there", there);
        const told = [`before: ${before[0]}`, `here: ${here[0]}`, `there: ${there[0]}`];
        if (two !== undefined) yield { two, told };
      }
    }
  }
}

/** After more of it, by lot. */
function byLot(seed: number): World {
  const dice = new Dice(`merge ${seed}`);
  let two = firstStates();
  const told: string[] = [];
  const go = (side: Side, most: number): void => {
    for (let left = dice.between(0, most); left > 0; left -= 1) {
      const happening = dice.pick(happenings);
      const later = after(two, side, happening);
      if (later === undefined) continue;
      told.push(`${side}: ${happening[0]}`);
      two = later;
    }
  };
  go("here", 5);
  two = { ...two, there: copyStore(two.here), shared: two.fresh };
  for (let turn = 0; turn < 3; turn += 1)
    for (const side of ["here", "there"] as const) go(side, 2);
  return { two, told };
}

// The program's merge, on rows that are made of the model's

/** What numbers are tells their order, and so their time. */
const at = (n: number): string => new Date(n).toISOString();
const vaultOf = { service, uuid: lower };
const key = deriveKey(Buffer.alloc(32, 7));
const sealing = new VaultRows({ ...vaultOf, at: "", key });

/** What the program makes of a backup that is restored into a state, both of them put into rows of the model's. */
function mergedByProgram({ here, there: file, fresh, shared }: Two, isTokenAlive: boolean): Store {
  const rows = rowsIn(here, fresh).with({ at: at(isTokenAlive ? 0 : 1e12), key });
  const backup = rowsIn(file, fresh);
  const past = new Set(Array.from({ length: shared }, (_, n) => String(n + 1)));
  // A file that does not have the vault has nothing to restore.
  if (backup.vault !== null) restoreVault(rows, backup, { past, isLabelTaken: false });
  return storeIn(rows);
}

/** A vault, with its secrets sealed. */
function rowsIn(store: Store, fresh: number): VaultRows {
  const { generations, exchanges } = store;
  const isKept = exchanges.length > 0 || generations.some((g) => g.standing !== "superseded");
  const pairs = [...new Set(generations.map(({ pair }) => pair))];
  const isKnown = JSON.stringify(store) !== JSON.stringify(emptyStore());
  const proven = exchanges.findLast((each) => each.next !== null && !each.adopted);
  const vault: VaultRow = {
    ...forgotten,
    ...vaultOf,
    kind,
    lastGeneration: fresh,
    carried: store.carried && carriedOf(store.carried),
    carriedUpTo: store.upTo === null ? null : String(store.upTo),
    provenAt: proven === undefined ? null : at(proven.id),
    proofExpiry: store.proof === null ? null : at(store.proof),
    limited: store.limited,
    forgotten: !isKept,
  };
  return new VaultRows({
    ...vaultOf,
    at: "",
    vault: isKnown ? vault : null,
    credentials: isKept ? generations.map(rowOfGeneration) : [],
    exchanges: exchanges.map((each) => rowOfExchange(store, each)),
    superseded: new Set(pairs.filter((pair) => isSuperseded(store, pair)).map(String)),
    refusals: new Map(store.refused.map((pair) => [String(pair), String(pair)] as const)),
  });
}

const rowOfGeneration = (generation: Generation): CredentialsRow => {
  const print = String(generation.pair);
  const pair = { encryptedData: print, payload: "" };
  return credentialsRow(generation, {
    generation: generation.number,
    sealed: sealing.seal("credentials.sealed", generation.number, pair),
    fingerprint: print,
  });
};

const rowOfExchange = (store: Store, exchange: Exchange): ExchangeRow => {
  const id = String(exchange.id);
  const isOpen = openStates.includes(exchange.state);
  return exchangeRow(exchange, {
    id,
    baseGeneration: exchange.base,
    newGeneration: exchange.next,
    startedAt: at(exchange.id),
    token: isOpen ? sealing.seal("exchanges.token", id, "token") : null,
    // The number of a pair tells when it was handed out.
    tokenExpiry: exchange.next === null ? null : at(generationOf(store, exchange.next)?.pair ?? 0),
  });
};

function storeIn({ vault, superseded: spent, credentials, exchanges, refusals }: VaultRows): Store {
  const superseded = [...spent].map(Number);
  const generations = credentials.map((row) => generationIn(row, Number(row.fingerprint)));
  // Of those that are neither superseded nor kept, under any number, only exchanges name the number.
  const named = new Set(generations.flatMap((g) => (g.standing === "superseded" ? [] : [g.pair])));
  const kept = generations.filter(({ pair }) => named.has(pair) || superseded.includes(pair));
  const others = superseded.filter((pair) => !kept.some((each) => each.pair === pair));
  const proof = vault?.proofExpiry ?? null;
  return {
    generations: [...others.map(forgottenPair), ...kept],
    refused: [...refusals.keys()].map(Number),
    exchanges: exchanges.map((row) => exchangeIn(row, Number(row.id))),
    carried: vault?.carried ? countsIn(vault.carried) : null,
    upTo: vault?.carriedUpTo ? Number(vault.carriedUpTo) : null,
    limited: vault?.limited === true,
    breaker: { isOpen: false, closedAfter: 0 },
    proof: proof === null ? null : Date.parse(proof),
  };
}

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

/** All that can be told of a state, without the numbers that it gives: two are the same, if these are equal. */
function toldOf(store: Store): unknown {
  const pairOf = (number: number | null): number => generationOf(store, number)?.pair ?? 0;
  const open = openOf(store);
  // Of those that are kept, in the order in which starts would try them if nothing were open.
  const closed = { ...store, exchanges: store.exchanges.filter((each) => each !== open) };
  const { limited, proof } = store;
  return {
    counters: counted(store),
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
      .map(({ id, state, base, next, ends, adopted, outcome, isSole }) =>
        // Of those that have ended nobody asks what they began with.
        ["acknowledged", "discarded", "rejected"].includes(state)
          ? [id, state, adopted, outcome]
          : [id, state, adopted, ends, outcome, isSole, pairOf(base), pairOf(next)],
      ),
  };
}

/** What differs between the model's merge and the program's; undefined where nothing does. */
function difference(two: Two, isTokenAlive: boolean): string | undefined {
  const { here, there, fresh, shared } = two;
  const inModel = JSON.stringify(
    toldOf(restored(there, here, fresh, isTokenAlive, (id) => id <= shared).store),
  );
  const inCode = JSON.stringify(toldOf(mergedByProgram(two, isTokenAlive)));
  return inModel === inCode ? undefined : `model: ${inModel}\ncode:  ${inCode}`;
}

function expectAsModelled({ two, told }: World): void {
  for (const isTokenAlive of [true, false]) {
    const found = difference(two, isTokenAlive);
    expect(found, [...told, `tokens live: ${isTokenAlive}`].join("\n")).toBeUndefined();
  }
}

describe("a backup that is restored: the program's merge is the model's", () => {
  it("whatever has happened before it was made, to the state since, and to the one of the file", () => {
    const all = [...worlds()];
    // Numbers that fall by much say that something no longer happens.
    expect(all.length).toBeGreaterThan(10_000);
    const some = sample(all, 2_000);
    for (const world of some) expectAsModelled(world);
    tried("pairs of states merged, compared with the model", 2 * some.length);
  });

  it("after long ways by lot", () => {
    const most = isWhole ? 20_000 : 500;
    for (let seed = 1; seed <= most; seed += 1) expectAsModelled(byLot(seed));
    tried("pairs of states merged, compared with the model", 2 * most);
  });
});
