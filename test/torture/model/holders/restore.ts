import { client } from "../client.ts";
import type { Exchange, Generation, Store } from "../state.ts";
import { copyStore, emptyStore, exchangeOf, generationOf, openOf, openStates } from "../state.ts";
import { carry, counted, countedToCarry, isSuperseded } from "../store.ts";

/** A backup that is restored into a state, the same vault in both. */
interface Restore {
  here: Store;
  file: Store;
  /** The next number that is free. */
  fresh: number;
  /** Exchanges that this state has known, whatever it still has of them. */
  past: (id: number) => boolean;
}

/**
 * "restore FILE, per vault": the rule of the design for one vault. Returns the state, and the next number that is free.
 */
export function restored(
  file: Store,
  before: Store,
  fresh: number,
  isTokenAlive: boolean,
  past: (id: number) => boolean = () => false,
): { store: Store; fresh: number } {
  const here = copyStore(before);
  const restore = { here, file, fresh, past };
  const isUnknown = JSON.stringify(here) === JSON.stringify(emptyStore());
  if (isUnknown) takeWhole(here, file, isTokenAlive);
  else importBehind(restore);
  return { store: here, fresh: restore.fresh + 1 };
}

const isKept = ({ standing }: Generation): boolean => standing !== "superseded";
const mayWork = ({ standing }: Generation): boolean =>
  ["current", "imported", "offered"].includes(standing);
const pairOf = (store: Store, number: number | null): number =>
  generationOf(store, number)?.pair ?? 0;

/** "Unknown here: its document and spent whole, unverified" */
function takeWhole(here: Store, file: Store, isTokenAlive: boolean): void {
  const { breaker } = here;
  Object.assign(here, copyStore(file), { breaker });
  for (const each of here.generations) Object.assign(each, { proven: false, elsewhere: true });
  const open = openOf(here);
  if (open === undefined) return;
  open.ends += 1;
  if (!isTokenAlive && ["started", "held"].includes(open.state)) open.state = "in-doubt";
  const [base, made] = [open.base, open.next].map((number) => generationOf(here, number));
  if (base?.standing === "superseded" || made?.standing === "superseded") {
    open.state = "discarded";
    return;
  }
  open.adopted = true;
  if (base !== undefined) base.ended = true;
  if (made !== undefined && mayWork(made))
    Object.assign(made, { standing: "imported", placed: "successor" });
}

/** "Known here: an import behind what is here" */
function importBehind(restore: Restore): void {
  const { here, file } = restore;
  const isForgotten = here.exchanges.length === 0 && !here.generations.some(isKept);
  const theirs = file.generations.filter(mayWork);
  if (isForgotten && theirs.every(({ pair }) => isSuperseded(here, pair))) return;
  if (isForgotten) Object.assign(here, { limited: file.limited, proof: file.proof });
  const ours = here.generations.filter(mayWork);
  const pairsHere = new Set(here.generations.map(({ pair }) => pair));
  const current = ours.find(({ standing }) => standing === "current");
  // "before it only if the file knows that the current pair here was superseded"
  const isStale = current !== undefined && isSuperseded(file, current.pair);
  const own = isForgotten ? [] : [...here.generations];
  const added: Generation[] = [];
  for (const each of bestLast(file)) {
    for (const g of here.generations) if (g.pair === each.pair) g.elsewhere = true;
    if (pairsHere.has(each.pair)) continue;
    const standing = !mayWork(each) ? "void" : isForgotten ? each.standing : "imported";
    const isFirst = isStale && each.standing === "current";
    added.push({
      ...each,
      number: (restore.fresh += 1),
      standing,
      placed: isForgotten
        ? each.placed
        : standing === "void"
          ? null
          : isFirst
            ? "successor"
            : "older",
      refused: each.refused || here.refused.includes(each.pair),
      proven: false,
      elsewhere: true,
    });
  }
  here.generations.push(...added);
  if (added.some(mayWork))
    for (const each of ours) Object.assign(each, { proven: false, elsewhere: true });
  const refusedThere = file.refused.filter((pair) => added.some((each) => each.pair === pair));
  here.refused = [...new Set([...here.refused, ...refusedThere])];
  takeExchanges(restore, [...own, ...added]);
  for (const each of file.generations)
    if (isSuperseded(file, each.pair) && !pairsHere.has(each.pair)) {
      pairsHere.add(each.pair);
      here.generations.unshift({ ...each, number: (restore.fresh += 1), standing: "superseded" });
    }
}

/** The kept pairs of the file, each once; that which it would try first is the last. */
function bestLast(file: Store): Generation[] {
  const order = [
    ...client.candidates(file).map((number) => generationOf(file, number)),
    ...file.generations.toReversed(),
  ].filter((each): each is Generation => each !== undefined && isKept(each));
  const once = order.filter((each, at) => order.findIndex(({ pair }) => pair === each.pair) === at);
  return once.toReversed();
}

/**
 * "the file's exchanges that count and are unknown here count here too; an open exchange is adopted only where its base is our current
 * pair and none is open"
 */
function takeExchanges({ here, file, past }: Restore, held: readonly Generation[]): void {
  const numberHere = (number: number | null): number | null => {
    const own = held.filter(({ pair }) => pair === pairOf(file, number));
    const found =
      own.find(({ standing }) => standing === "current") ?? own.findLast(mayWork) ?? own.at(-1);
    return found?.number ?? null;
  };
  const open = openOf(file);
  const [base, made] = [open?.base, open?.next].map((number) =>
    generationOf(here, numberHere(number ?? null)),
  );
  const goesOn =
    open !== undefined &&
    open.state !== "in-doubt" &&
    openOf(here) === undefined &&
    base?.standing === "current" &&
    made !== undefined &&
    mayWork(made);
  const there = { ...file, exchanges: file.exchanges.map((each) => ({ ...each, isSole: false })) };
  const countsIn = (each: Exchange): boolean => {
    const own = counted({ ...there, carried: null }, ({ id }) => id === each.id);
    return own.unacked + own.failed > 0;
  };
  const { upTo } = here;
  const isNew = (id: number): boolean =>
    id !== upTo && !past(id) && exchangeOf(here, id) === undefined;
  const news = file.exchanges.filter(
    (each) => isNew(each.id) && (countsIn(each) || each === open || each.id === file.upTo),
  );
  const theirs = counted(there, () => false);
  if (file.upTo !== null && theirs.unacked + theirs.failed > 0 && isNew(file.upTo)) {
    here.upTo ??= file.upTo;
    const ours = countedToCarry(here);
    carry(here, {
      unacked: ours.unacked + theirs.unacked,
      unanswered: ours.unanswered + theirs.unanswered,
      failed: ours.failed + theirs.failed,
      possibly: ours.possibly + theirs.possibly,
    });
  }
  for (const each of news) {
    const isOpen = goesOn && each === open;
    here.exchanges.push({
      ...each,
      base: numberHere(each.base) ?? 0,
      next: numberHere(each.next),
      isSole: false,
      adopted: true,
      outcome: countsIn(each) ? each.outcome : "nothing",
      state: openStates.includes(each.state) && !isOpen ? "discarded" : each.state,
      ends: isOpen ? 0 : each.ends,
    });
    // Somebody may have acknowledged it.
    if (isOpen) Object.assign(base ?? {}, { ended: true });
    if (isOpen) Object.assign(made, { standing: "imported", placed: null });
  }
}
