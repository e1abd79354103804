import type { Parts } from "../moves.ts";
import type { Store } from "../state.ts";
import { copyStore, openOf } from "../state.ts";
import { describe, exported, put, take } from "./papers.ts";
import { restored } from "./restored.ts";
import type { Event, HolderBounds, Holders, Left } from "./state.ts";
import { pairsOf, storeAt } from "./state.ts";

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
      parts.steps.markElsewhere(storeOf(to), out.generations);
      return put(bounds, to, out.paper) ? undefined : false;
    });
  }
  if (may("backup") && backup === null && store.generations.length > 0) {
    add("backup", { events: 1 }, (to) => {
      parts.steps.markElsewhere(
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
