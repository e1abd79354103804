import type { Document, Store } from "../state.ts";
import { VaultError } from "../../../../src/errors.ts";
import type { VaultSession } from "../../../../src/exchange/ports.ts";
import { kind } from "./service.ts";
import type { RealStore } from "./store.ts";
import { counted, isSole, NotTaken, storeSteps, type StoreSteps } from "../store.ts";

/** Stores that differ, out of the states of a model, and from those of models before. */
export class Stores {
  readonly all: Store[] = [];
  readonly exchangeStates = new Set<string>();
  readonly #known: Set<string>;

  constructor(known: Set<string>) {
    this.#known = known;
  }

  add(store: Store): void {
    for (const { state } of store.exchanges) this.exchangeStates.add(state);
    const key = keyOf(store);
    if (!this.#known.has(key)) this.all.push(store);
    this.#known.add(key);
  }
}

/** By places in place of numbers. */
function keyOf(store: Store): string {
  const place = (number: number | null): number =>
    store.generations.findIndex((generation) => generation.number === number);
  let key = `${JSON.stringify(store.carried)} ${store.exchanges.findIndex(({ id }) => id === store.upTo)}${store.limited}${store.proof === null}`;
  for (const { pair, standing, proven, elsewhere, refused, placed, ended } of store.generations)
    key += `,${standing}${proven}${elsewhere}${refused}${placed}${ended}${store.refused.includes(pair)}`;
  for (const {
    state,
    operation,
    base,
    next,
    delivered,
    saveOwed,
    ends,
    limited,
    outcome,
    isSole,
    adopted,
  } of store.exchanges)
    key += `;${state}${operation}${place(base)}${place(next)}${delivered}${saveOwed}${limited}${adopted} ${ends}${outcome}${isSole}`;
  return key;
}

/** A store without numbers: two of them are the same, if these are equal. */
export function comparable(store: Store): unknown {
  const place = (number: number | null): number | null =>
    number === null
      ? null
      : store.generations.findIndex((generation) => generation.number === number);
  const pairs = [...new Set(store.generations.map(({ pair }) => pair))];
  const { breaker: _breaker, upTo, ...rest } = store;
  return {
    ...rest,
    counted: counted(store),
    upTo: store.exchanges.findIndex(({ id }) => id === upTo),
    generations: store.generations.map(({ number: _number, pair, ...rest }) => ({
      ...rest,
      pair: pairs.indexOf(pair),
    })),
    proof: store.proof === null ? null : "known",
    refused: store.refused
      .map((pair) => pairs.indexOf(pair))
      .filter((index) => index >= 0)
      .sort(),
    // What is true of them is not in the state.
    exchanges: store.exchanges.map(
      ({ id: _id, seen: _seen, arrived: _arrived, base, next, ...rest }) => ({
        ...rest,
        base: place(base),
        next: place(next),
      }),
    ),
  };
}

/** One call of the port, to the model and to the code. */
interface Call {
  name: string;
  inModel(steps: StoreSteps, store: Store): void;
  inCode(session: VaultSession, real: RealStore): Promise<unknown>;
}

const error = { code: "network", message: "no answer" };
const [firstNew, secondNew, thirdNew] = [900_001, 900_002, 900_003];

/** Every method that changes an exchange, for every exchange that there is and for one that there is not. */
export function callsFor(real: RealStore, store: Store): Call[] {
  const ids = [...store.exchanges.map(({ id }) => id), firstNew];
  return [
    ...ids.flatMap((id) => callsWith(real, store, id)),
    ...store.generations.map(({ pair }) => recording(pair)),
    recording(firstNew),
    ...adoptions(store),
    handingOut(store),
    ...(["all", "unanswered", { unacked: 1, failed: 1 }, { unacked: 2, failed: 0 }] as const).map(
      resetting,
    ),
  ];
}

function callsWith(real: RealStore, store: Store, id: number): Call[] {
  const at = real.exchangeId(store, id);
  const both = [false, true];
  const call = (name: string, inModel: Call["inModel"], inCode: Call["inCode"]): Call => ({
    name: `${name} ${at}`,
    inModel,
    inCode,
  });
  const intents = store.generations.map(({ number }) =>
    call(
      `recordIntent with generation ${number}`,
      (steps, s) => steps.intent(s, { id, operation: "get", base: number }),
      async (session) =>
        await session.recordIntent({
          exchangeId: at,
          operation: "get",
          kind,
          externalRef: "",
          generation: real.generation(store, number),
          sole: isSole(store, number),
          seen: null,
        }),
    ),
  );
  const base = store.exchanges.find((exchange) => exchange.id === id)?.base ?? 0;
  const basePair = store.generations.find(({ number }) => number === base)?.pair ?? firstNew;
  return [
    ...intents,
    call(
      "noteOutcome, free",
      (steps, s) => steps.takenBack(s, id),
      async (session) => await session.noteOutcome(at, "free", error),
    ),
    ...both.map((isSuccess) =>
      call(
        `noteOutcome, success: ${isSuccess}`,
        (steps, s) => steps.noWholeAnswer(s, id, isSuccess),
        async (session) => await session.noteOutcome(at, isSuccess ? "success" : "none", error),
      ),
    ),
    ...both.map((counts) =>
      call(
        `noteOutcome, refused: ${counts}`,
        (steps, s) => steps.refused(s, id, counts),
        async (session) =>
          counts
            ? await session.noteOutcome(at, "refused", error, real.pairs.combination(basePair))
            : await session.noteOutcome(at, "no-starts", error),
      ),
    ),
    ...both.map((limited) =>
      call(
        `start, ${limited}`,
        (steps, s) =>
          steps.started(s, id, { number: secondNew, pair: secondNew, limited, elsewhere: limited }),
        async (session) =>
          await session.recordStarted(at, {
            pair: real.pairs.pair(secondNew),
            token: real.pairs.token(secondNew),
            tokenExpiry: real.expiry(secondNew),
            usesRemaining: null,
            limited,
            expiryDate: null,
            autoLockDate: null,
            dateCreated: null,
            lastModified: null,
            combination: real.pairs.combination(basePair),
            elsewhere: limited,
          }),
      ),
    ),
    ...both.flatMap((delivered) =>
      both.map((saveOwed) =>
        call(
          `hold, ${delivered} ${saveOwed}`,
          (steps, s) => steps.held(s, id, { delivered, saveOwed }),
          async (session) => await session.hold(at, "delivery", { delivered, saveOwed }),
        ),
      ),
    ),
    ...both.map((delivered) =>
      call(
        `ending, ${delivered}`,
        (steps, s) => steps.ending(s, id, delivered),
        async (session) => await session.recordEnding(at, delivered),
      ),
    ),
    call(
      "settle, ending",
      (steps, s) => steps.endSettlesNothing(s, id),
      async (session) => await session.settle(at, "ending", error),
    ),
    call(
      "acknowledge",
      (steps, s) => steps.acknowledged(s, id),
      async (session) => await session.acknowledge(at),
    ),
    call(
      "settle, expired",
      (steps, s) => steps.expired(s, id),
      async (session) => await session.settle(at, "expired", error),
    ),
    call(
      "settle, in doubt",
      (steps, s) => steps.inDoubt(s, id),
      async (session) => await session.settle(at, "in-doubt", error),
    ),
  ];
}

const recording = (pair: number): Call => ({
  name: `record ${pair}`,
  inModel: (steps, store) => steps.importPair(store, { number: secondNew, pair }),
  inCode: async (session, real) =>
    await session.recordPair({ credentials: real.pairs.pair(pair), kind }),
});

const resetting = (to: Parameters<StoreSteps["guardReset"]>[1]): Call => ({
  name: `resetCounters, ${JSON.stringify(to)}`,
  inModel: (steps, store) => steps.guardReset(store, to),
  inCode: async (session) =>
    await session.resetCounters(
      typeof to === "string" ? to : { unackedStarts: to.unacked, failedAttempts: to.failed },
    ),
});

const handingOut = (store: Store): Call => ({
  name: "markElsewhere",
  inModel: (steps, s) =>
    steps.wentElsewhere(
      s,
      s.generations.map(({ number }) => number),
    ),
  inCode: async (session, real) =>
    await session.markElsewhere(
      store.generations.map(({ number }) => real.generation(store, number)),
    ),
});

/** Documents of exchanges that are known here and of others, between any pairs, before and after the last proof. */
function adoptions(store: Store): Call[] {
  const pairs = [...new Set([...store.generations.map(({ pair }) => pair), firstNew])];
  const offered = [...pairs, thirdNew, 0];
  const known = store.exchanges.flatMap(({ id, base, next }) => {
    const [old, given] = [base, next].map(
      (number) => store.generations.find((g) => g.number === number)?.pair,
    );
    return old === undefined || given === undefined
      ? []
      : [adopting({ exchange: id, operation: "get", old, new: given, unread: false })];
  });
  const others = pairs.flatMap((old) =>
    offered
      .filter((given) => given !== old)
      .map((given) =>
        adopting({
          exchange: firstNew,
          operation: "get",
          old,
          new: given,
          unread: given === thirdNew,
        }),
      ),
  );
  return [...known, ...others];
}

const adopting = (document: Document): Call => ({
  name: `adopt ${JSON.stringify(document)}`,
  inModel: (steps, store) => steps.importDocument(store, document, [secondNew, thirdNew]),
  inCode: async (session, real) =>
    await session.adopt({
      exchangeId: real.exchangeId(await real.read(), document.exchange),
      kind,
      operation: "get",
      old: real.pairs.pair(document.old),
      new: real.pairs.pair(document.new),
      token: real.pairs.token(document.new),
      tokenExpiry: real.expiry(document.new),
      unread: document.unread,
    }),
});

/** What the model makes of it: another store, or the one before where the step is not taken. */
export function modelled(store: Store, { inModel }: Call): { store: Store; isTaken: boolean } {
  const after = structuredClone(store);
  try {
    inModel(storeSteps, after);
    return { store: after, isTaken: true };
  } catch (error) {
    if (!(error instanceof NotTaken)) throw error;
    return { store, isTaken: false };
  }
}

/** Makes the call of the code. Returns false where the step is not taken. */
export async function taken(real: RealStore, { inCode }: Call): Promise<boolean> {
  try {
    await inCode(real.session, real);
    return true;
  } catch (error) {
    if (error instanceof VaultError && ["state", "no-credentials"].includes(error.code))
      return false;
    throw error;
  }
}
