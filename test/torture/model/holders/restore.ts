import type { Counts, Exchange, Generation, Placed, Store } from "../state.ts";
import { copyStore, emptyStore, exchangeOf, generationOf, openOf } from "../state.ts";
import { carry, counted, countedToCarry, isSuperseded } from "../store.ts";

const counters = ["unacked", "unanswered", "failed", "possibly"] as const;
const counts = (of: (what: keyof Counts) => number): Counts => ({
  unacked: of("unacked"),
  unanswered: of("unanswered"),
  failed: of("failed"),
  possibly: of("possibly"),
});

/** A backup that is restored into a state, the same vault in both. */
interface Restore {
  here: Store;
  file: Store;
  isTokenAlive: boolean;
  /** The file's open exchange goes on here. */
  goesOn: boolean;
  /** The number here of a generation of the file. */
  numbers: Map<number | null, number>;
}

/**
 * Restores one vault of the file, as an import (docs/design.md, The whole state). Returns the state, and the next number that is free.
 */
export function restored(
  file: Store,
  before: Store,
  fresh: number,
  isTokenAlive: boolean,
): { store: Store; fresh: number } {
  const here = copyStore(before);
  let last = fresh;
  const numbers = new Map(file.generations.map(({ number }) => [number, (last += 1)]));
  const restore: Restore = { here, file, isTokenAlive, goesOn: true, numbers };
  const isKnown = here.exchanges.length > 0 || here.generations.some(isKept);
  if (isKnown) join({ ...restore, goesOn: mayGoOn(restore) });
  else comeBack(restore);
  return { store: here, fresh: last + 1 };
}

const isKept = ({ standing }: Generation): boolean => standing !== "superseded";
const mayWork = ({ standing }: Generation): boolean =>
  ["current", "imported", "offered"].includes(standing);
const pairOf = (store: Store, number: number | null): number =>
  generationOf(store, number)?.pair ?? 0;
const currentOf = ({ generations }: Store): Generation | undefined =>
  generations.find(({ standing }) => standing === "current");
const union = (some: readonly number[], more: readonly number[]): number[] => [
  ...new Set([...some, ...more]),
];

/** "superseded or refused here: nothing" */
const isDead = ({ here }: Restore, pair: number): boolean =>
  isSuperseded(here, pair) || here.refused.includes(pair);

// "unknown: taken, unproven", and "forgotten, ready: comes back"

function comeBack(restore: Restore): void {
  const { here, file, numbers } = restore;
  const isForgotten = JSON.stringify(here) !== JSON.stringify(emptyStore());
  const offered = file.generations.filter(mayWork);
  if (offered.length === 0 ? isForgotten : offered.every(({ pair }) => isDead(restore, pair)))
    return;
  const before = copyStore(here);
  for (const each of file.generations) {
    const number = numbers.get(each.number) ?? 0;
    const standing = isSuperseded(before, each.pair) ? "superseded" : each.standing;
    // "A refusal never marks a pair as superseded."
    const refused = each.refused || here.refused.includes(each.pair);
    here.generations.push({ ...each, number, standing, refused, proven: false, elsewhere: true });
  }
  here.exchanges = file.exchanges.map((each) => numbered(restore, each));
  Object.assign(here, { carried: file.carried, upTo: file.upTo });
  // "Counters outlive forget": the higher ones.
  const [was, is] = [counted(before), countedToCarry(here)];
  if (before.carried !== null)
    carry(
      here,
      counts((what) => Math.max(was[what], is[what])),
    );
  here.refused = union(here.refused, file.refused);
  Object.assign(here, { limited: file.limited, proof: file.proof });
  const open = openOf(here);
  if (open === undefined) return;
  stayOpen(restore, open);
  // "Where one of its pairs is superseded, the end call was answered to somebody, or never will be."
  const pairs = [open.base, open.next].map((number) => generationOf(here, number));
  if (pairs.some((each) => each?.standing === "superseded")) open.state = "discarded";
}

/** "an open exchange whose token lives stays what it was, else in doubt": anybody may have acknowledged it since. */
function stayOpen({ here, isTokenAlive }: Restore, open: Exchange): void {
  if (!isTokenAlive) open.state = "in-doubt";
  open.adopted = true;
  open.ends += 1;
  // Its old credentials are not sole any more.
  Object.assign(generationOf(here, open.base) ?? {}, { ended: true });
  const offered = generationOf(here, open.next);
  if (offered?.standing === "offered" || offered?.standing === "imported") comeFirst(offered);
}

/** As the new credentials of a document, which are the next to be tried. */
const comeFirst = (offered: Generation): void =>
  void Object.assign(offered, { standing: "imported", placed: "successor" });

// A vault that both know

function join(restore: Restore): void {
  const { here } = restore;
  const ours = here.generations.filter(mayWork);
  const isReady = !isDoubted(here);
  const candidates = [...importUnknown(restore), ...takeOutcomes(restore)];
  takeExchanges(restore);
  if (candidates.length > 0 && isReady)
    for (const each of ours) Object.assign(each, { proven: false, elsewhere: true });
}

/** "rejected, in doubt"; or nothing was ever proven here. */
function isDoubted(store: Store): boolean {
  const current = currentOf(store);
  return current === undefined || current.refused || openOf(store)?.state === "in-doubt";
}

/** "none open, an open one: as unknown if its base is current here, else closed"; where it is the one that is open here, if it is further. */
function mayGoOn(restore: Restore): boolean {
  const { here, file } = restore;
  const [ours, theirs] = [openOf(here), openOf(file)];
  const known = exchangeOf(here, theirs?.id ?? null);
  if (theirs === undefined || isDead(restore, pairOf(file, theirs.next))) return false;
  if (known !== undefined && !isFurther(theirs, known)) return false;
  if (ours !== undefined) return ours === known;
  return pairOf(file, theirs.base) === (currentOf(here)?.pair ?? 0);
}

/** Credentials that are not known here, in the order in which they are to be tried last. Returns those that are candidates. */
function importUnknown(restore: Restore): Generation[] {
  const { here, file, isTokenAlive, goesOn, numbers } = restore;
  const closed = goesOn ? undefined : openOf(file);
  // Of several generations with one pair, what "is current here" counts before what may work, and that before the rest.
  const weight = (each: Generation): number =>
    each.standing === "current" ? 2 : Number(mayWork(each));
  const known = new Map(
    here.generations
      .toSorted((a, b) => weight(a) - weight(b))
      .map(({ pair, number }) => [pair, number]),
  );
  const places = file.generations.map((each) => placeOf(restore, each));
  const refusedHere = [...here.refused];
  const candidates: Generation[] = [];
  for (const [at, each] of file.generations.entries()) {
    const ours = known.get(each.pair);
    const isRefused = isKept(each) && refusedHere.includes(each.pair);
    // "A refusal never marks a pair as superseded": it is not kept.
    if (ours === undefined && isRefused) numbers.delete(each.number);
    if (ours !== undefined) numbers.set(each.number, ours);
    if (ours !== undefined || isRefused) continue;
    const standing = mayWork(each) ? "imported" : each.standing;
    const placed = standing === "imported" ? (places[at] ?? null) : null;
    const number = numbers.get(each.number) ?? 0;
    const taken: Generation = { ...each, number, standing, placed, proven: false, elsewhere: true };
    here.generations.push(taken);
    if (each.refused && isKept(each)) here.refused = union(here.refused, [each.pair]);
    if (standing === "imported") candidates.push(taken);
  }
  // At ② or held nobody has acknowledged it while its token lives: what it has made comes after what it began with.
  const isUnsent = isTokenAlive && ["started", "held"].includes(closed?.state ?? "");
  const made = isUnsent ? generationOf(here, numbers.get(closed?.next ?? 0) ?? null) : undefined;
  if (made !== undefined && candidates.includes(made)) {
    const others = here.generations.filter((each) => each !== made && !candidates.includes(each));
    here.generations = [...others, made, ...candidates.filter((each) => each !== made)];
  }
  return candidates;
}

/** "a successor of ours: first", "otherwise unknown: after ours"; first where ours were refused or are in doubt. */
function placeOf({ here, file, goesOn }: Restore, { number }: Generation): Placed | null {
  const [ours, theirs] = [currentOf(here)?.pair ?? 0, openOf(file)];
  const isOfTheirs = !goesOn && theirs !== undefined && [theirs.base, theirs.next].includes(number);
  // "open, another open one: its credentials after ours"
  if (isOfTheirs && openOf(here) !== undefined) return "older";
  const starts = file.exchanges.filter((each) => each.next !== null);
  const accepted = starts.filter((each) => [each.base, each.next].includes(number));
  const latest = Math.max(...accepted.map((each) => pairOf(file, each.next)));
  // "unless the service's times say that it is older than what was proven"
  if (accepted.length > 0 && latest < (here.proof ?? 0)) return "older";
  const isMadeOfOurs = accepted.some(
    (each) => each.next === number && pairOf(file, each.base) === ours,
  );
  if (isMadeOfOurs || isSuperseded(file, ours)) return "successor";
  return isDoubted(here) ? null : "older";
}

// "the same exchange: the further outcome: acknowledged, rejected/expired/discarded, in doubt, ③, held, ②, ①"

const furtherAndFurther: readonly Exchange["state"][][] = [
  ["intent"],
  ["started"],
  ["held"],
  ["ending"],
  ["in-doubt"],
  ["rejected", "expired", "discarded"],
  ["acknowledged"],
];
const wayOf = ({ state }: Exchange): number =>
  furtherAndFurther.findIndex((states) => states.includes(state));

/** One that was taken back may have been taken up again here, with a document. */
const isFurther = (theirs: Exchange, ours: Exchange): boolean =>
  wayOf(theirs) > wayOf(ours) &&
  (theirs.state === "acknowledged" || theirs.next !== null || ours.next === null);

/** Returns the credentials that are candidates since somebody has acknowledged them. */
function takeOutcomes(restore: Restore): Generation[] {
  const { here, file, goesOn } = restore;
  const candidates: Generation[] = [];
  for (const theirs of file.exchanges) {
    const ours = exchangeOf(here, theirs.id);
    if (ours === undefined || !isFurther(theirs, ours)) continue;
    if (theirs.next !== null && isDead(restore, pairOf(file, theirs.next))) continue;
    const isOpenThere = theirs === openOf(file);
    Object.assign(ours, numbered(restore, theirs));
    if (isOpenThere && !goesOn) ours.state = "discarded";
    if (isOpenThere && goesOn) stayOpen(restore, ours);
    const [made, madeThere] = [generationOf(here, ours.next), generationOf(file, theirs.next)];
    if (isOpenThere || made === undefined || madeThere === undefined) continue;
    // "A SUCCESS for an adopted exchange supersedes nothing: its new credentials are the next to be tried."
    if (mayWork(madeThere) && ["imported", "offered", "void"].includes(made.standing)) {
      comeFirst(made);
      candidates.push(made);
    } else if (made.standing === "offered") made.standing = "void";
  }
  return candidates;
}

// "the file's exchanges that count and are unknown here count here too"

function takeExchanges(restore: Restore): void {
  const { here, file, goesOn } = restore;
  const lastSuccess = here.exchanges.findLast((each) => each.next !== null && !each.adopted)?.id;
  const news = file.exchanges.filter(({ id }) => exchangeOf(here, id) === undefined);
  const ourLast = here.exchanges.at(-1)?.id ?? Number.POSITIVE_INFINITY;
  const ours = countedToCarry(here);
  const isSaid = news.some(({ id }) => id === file.upTo);
  const said = { ...file, carried: isSaid ? file.carried : null };
  const more = counted(
    { ...said, exchanges: said.exchanges.map((each) => ({ ...each, isSole: false })) },
    ({ id }) => news.some((each) => each.id === id),
  );
  const isCounted = (each: Exchange): boolean => {
    const { unacked, failed } = counted({ ...file, carried: null }, (other) => other === each);
    return unacked + failed > 0;
  };
  for (const theirs of news) {
    const taken = { ...numbered(restore, theirs), adopted: true };
    const isOpenThere = theirs === openOf(file);
    if (isOpenThere && !goesOn) taken.state = "discarded";
    // A later success here has ended it.
    if (taken.state === "intent" && taken.id < (lastSuccess ?? 0)) taken.state = "discarded";
    if (!isCounted(theirs)) taken.outcome = "nothing";
    here.exchanges.push(taken);
    if (isOpenThere && goesOn) stayOpen(restore, taken);
  }
  // What has ended in the file does not hide that our last start may be without an answer.
  const ageOf = (each: Exchange): number => {
    if (!news.some(({ id }) => id === each.id) || each.state === "intent") return each.id;
    return each === openOf(here) ? Math.max(each.id, ourLast) : Math.min(each.id, ourLast - 0.5);
  };
  here.exchanges = here.exchanges.toSorted((a, b) => ageOf(a) - ageOf(b));
  if (counters.every((what) => more[what] === 0)) return;
  carry(
    here,
    counts((what) => ours[what] + more[what]),
  );
}

const numbered = ({ numbers }: Restore, each: Exchange): Exchange => ({
  ...each,
  base: numbers.get(each.base) ?? 0,
  next: each.next === null ? null : (numbers.get(each.next) ?? null),
});
