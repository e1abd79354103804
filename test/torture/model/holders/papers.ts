import { isRefused } from "../client.ts";
import type { Parts } from "../moves.ts";
import { copyStore, generationOf, openOf, type Store } from "../state.ts";
import { NotTaken } from "../store.ts";
import type { Event, HolderBounds, Holders, Left, Paper } from "./state.ts";
import { pairsOf, same, storeAt } from "./state.ts";
import { restored } from "./restore.ts";

const describe = (paper: Paper): string =>
  "pair" in paper ? `export of ${paper.pair}` : `document ${paper.old}→${paper.new}`;

/** Imports a paper; false where it is refused, or nothing changes. */
export function take(parts: Parts, to: Holders, place: number, paper: Paper): void | false {
  const store = storeAt(to, place);
  const before = JSON.stringify(store);
  try {
    if ("pair" in paper)
      parts.steps.importPair(store, { number: (to.fresh += 1), pair: paper.pair });
    else parts.steps.importDocument(store, paper, [(to.fresh += 1), (to.fresh += 1)]);
  } catch (error) {
    if (!(error instanceof NotTaken)) throw error;
    return false;
  }
  const machine = to.machines[place] as Holders["machines"][number];
  machine.truth.refused = machine.truth.refused.filter(
    (refused) => !pairsOf(paper).includes(refused),
  );
  // Only of the last exchange is it seen that its start has no outcome.
  if (!("pair" in paper)) machine.truth.isSilent = store.breaker.isOpen;
  return JSON.stringify(store) === before ? false : undefined;
}

function put(bounds: HolderBounds, holders: Holders, paper: Paper): boolean {
  if (holders.papers.some((each) => same(each, paper)) || holders.papers.length >= bounds.papers)
    return false;
  holders.papers.push(paper);
  return true;
}

/** The recovery document of the open exchange, or else what the next start would send first. */
function exported(parts: Parts, store: Store): { paper: Paper; generations: number[] } | undefined {
  const open = openOf(store);
  const pairOf = (number: number | null | undefined): number =>
    generationOf(store, number ?? null)?.pair ?? 0;
  if (open !== undefined) {
    const { id: exchange, operation, base, next } = open;
    return {
      paper: { exchange, operation, old: pairOf(base), new: pairOf(next), unread: false },
      generations: [base, next ?? 0],
    };
  }
  const number = parts.client.candidates(store).find((each) => !isRefused(store, each));
  return number === undefined
    ? undefined
    : { paper: { pair: pairOf(number) }, generations: [number] };
}

/** The recovery document of a process leaves its state. */
export function putOut(parts: Parts, bounds: HolderBounds, holders: Holders, place: number): void {
  const store = storeAt(holders, place);
  const paper = exported(parts, store)?.paper;
  if (paper !== undefined) put(bounds, holders, paper);
}

/** Something that can happen on a machine, with what it uses up; nothing does where the change is false. */
export type Add = (
  label: string,
  cost: Partial<Left>,
  change: (to: Holders) => void | false,
) => void;

/** What people do while no process holds the vault on this machine. */
export function happen(
  parts: Parts,
  bounds: HolderBounds,
  holders: Holders,
  place: number,
  add: Add,
): void {
  const { papers, backup, service } = holders;
  const store = storeAt(holders, place);
  const may = (event: Event): boolean => bounds.events.includes(event);
  const storeOf = (to: Holders): Store => storeAt(to, place);
  const isWithPaper = papers.some((paper) => pairsOf(paper).includes(service.pair));
  if (may("import"))
    for (const paper of papers)
      add(`import the ${describe(paper)}`, { events: 1 }, (to) => take(parts, to, place, paper));
  const out = exported(parts, store);
  if (may("export") && out !== undefined) {
    add(`export: ${describe(out.paper)}`, { events: 1 }, (to) => {
      parts.steps.wentElsewhere(storeOf(to), out.generations);
      return put(bounds, to, out.paper) ? undefined : false;
    });
  }
  if (may("backup") && backup === null && store.generations.length > 0) {
    add("backup", { events: 1 }, (to) => {
      parts.steps.wentElsewhere(
        storeOf(to),
        store.generations.map((g) => g.number),
      );
      to.backup = copyStore(storeOf(to));
    });
  }
  if (may("restore") && backup !== null) {
    for (const isAlive of [true, false]) {
      add(`restore${isAlive ? "" : ", after the tokens of the backup"}`, { events: 1 }, (to) => {
        const merged = restored(backup, copyStore(storeOf(to)), to.fresh, isAlive);
        Object.assign(storeOf(to), merged.store);
        to.fresh = merged.fresh;
      });
    }
  }
  if (may("copy") && place === 1 && store.generations.every((g) => g.standing === "superseded")) {
    add("a copy of the state of A", { events: 1 }, (to) => {
      Object.assign(storeOf(to), copyStore(storeAt(to, 0)));
      for (const each of storeOf(to).generations) each.elsewhere = true;
    });
  }
  const isQuiet =
    openOf(store) === undefined && store.generations.some((g) => g.standing !== "superseded");
  if (may("forget") && isQuiet && isWithPaper) {
    add("forget", { events: 1 }, (to) => {
      const kept = storeOf(to);
      kept.generations = kept.generations.filter((g) => g.standing === "superseded");
      kept.exchanges = [];
      // With them a start without an outcome is forgotten.
      (to.machines[place] as Holders["machines"][number]).truth.isSilent = kept.breaker.isOpen;
    });
  }
  if (may("colleague") && place === 0 && isWithPaper && !service.locked) {
    add("a colleague reads with other software", { events: 1 }, (to) => {
      const pair = (to.fresh += 1);
      Object.assign(to.service, { pair, open: null, failed: 0, unacked: 0 });
      to.acked.push(pair);
      const replaced = to.papers.findIndex(
        (paper) => "pair" in paper && paper.pair === service.pair,
      );
      if (replaced >= 0) to.papers[replaced] = { pair };
      else to.papers.push({ pair });
    });
  }
}
