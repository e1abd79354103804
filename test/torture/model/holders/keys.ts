import { lockAt } from "../service-part.ts";
import type { Store } from "../state.ts";
import { generationOf, openOf } from "../state.ts";
import type { Holders } from "./state.ts";
import { emptyStore } from "../state.ts";
import { pairsOf, papersOf } from "./state.ts";

/** Takes out what nothing depends on any more. */
export function prune(holders: Holders): void {
  const { machines, backup, service, file } = holders;
  const [container] = machines;
  if (file !== null && container?.process === null) container.store = emptyStore();
  const papers = papersOf(holders);
  const spokenOf = new Set([service.pair, ...papers.flatMap(pairsOf)]);
  for (const { store } of machines)
    for (const g of store.generations) if (g.standing !== "superseded") spokenOf.add(g.pair);
  if (backup !== null) for (const g of backup.generations) spokenOf.add(g.pair);
  const documents = new Set(papers.flatMap((paper) => ("pair" in paper ? [] : [paper.exchange])));
  for (const { store, process, truth } of machines) {
    const open = openOf(store);
    store.generations = store.generations.filter(
      (g) =>
        g.standing !== "superseded" ||
        spokenOf.has(g.pair) ||
        g.number === open?.base ||
        g.number === open?.next,
    );
    const last = store.exchanges.at(-1);
    store.exchanges = store.exchanges.filter(
      (e) =>
        e === open ||
        e.id === process?.exchange ||
        (e === last && ["intent", "acknowledged"].includes(e.state)) ||
        documents.has(e.id) ||
        (e.state === "expired" && generationOf(store, e.next)?.standing === "void"),
    );
    store.refused = store.refused.filter((pair) => spokenOf.has(pair));
    for (const e of store.exchanges) {
      if (e.ends > 2) e.ends = 2;
      Object.assign(e, { delivered: false, seen: true });
      if (e.state !== "intent" || e.id !== process?.exchange)
        Object.assign(e, { countedStart: 0, countedFailed: 0 });
    }
    store.unacked = Math.min(store.unacked, lockAt.unacked);
    store.failed = Math.min(store.failed, lockAt.failed + 1);
    store.unanswered = Math.min(store.unanswered, store.unacked);
    store.quiet = Math.min(store.quiet, store.unanswered);
    truth.refused = truth.refused.filter((pair) => spokenOf.has(pair));
  }
  if (file !== null)
    holders.file = {
      ...file,
      attempts: {
        ...file.attempts,
        refused: file.attempts.refused.filter((pair) => spokenOf.has(pair)),
      },
    };
  const tokens = new Set(
    machines.flatMap(({ store }) => store.generations.map((g) => g.pair)).concat([...spokenOf]),
  );
  holders.acked = holders.acked.filter((token) => tokens.has(token)).sort((a, b) => a - b);
}

/** Pairs by their age, generations and exchanges by their place: with or without what may still happen. */
export function keyOf(holders: Holders, withLeft: boolean): string {
  const { service, acked, machines, backup, left, fault, file } = holders;
  const papers = papersOf(holders);
  const numbers = new Set<number>([service.pair, ...acked, ...papers.flatMap(pairsOf)]);
  if (service.open !== null) numbers.add(service.open.offered);
  const stores = machines.map(({ store }) => store).concat(backup === null ? [] : [backup]);
  for (const store of stores) {
    for (const g of store.generations) numbers.add(g.pair);
    for (const pair of store.refused) numbers.add(pair);
    if (store.proof !== null) numbers.add(store.proof);
  }
  for (const { process } of machines) if (process?.offered) numbers.add(process.offered);
  const ranked = new Map(
    [...numbers].sort((a, b) => a - b).map((pair, rank) => [pair, String.fromCodePoint(65 + rank)]),
  );
  const name = (pair: number | null | undefined): string =>
    pair === null || pair === undefined ? "-" : (ranked.get(pair) ?? "?");
  const ids = new Map<number, number>();
  const id = (exchange: number | null): number | string => {
    if (exchange === null) return "-";
    if (!ids.has(exchange)) ids.set(exchange, ids.size);
    return ids.get(exchange) ?? 0;
  };
  const storeKey = (store: Store): string => {
    const place = (number: number | null): number =>
      store.generations.findIndex((g) => g.number === number);
    let key = `${store.unacked}${store.failed}${store.possibly}${store.unanswered}${store.quiet}${store.refusedSince ? "R" : ""}${store.breaker.isOpen ? "o" : ""}${name(store.proof)}`;
    for (const g of store.generations)
      key += `,${name(g.pair)}${g.standing[0]}${g.proven ? "!" : ""}${g.elsewhere ? "e" : ""}${g.ended ? "x" : ""}${g.refused ? "r" : ""}${g.placed?.[0] ?? ""}`;
    key += `?${store.refused.map(name).sort().join("")}`;
    for (const e of store.exchanges)
      key += `;${id(e.id)}${e.state}${place(e.base)}${place(e.next)}${e.ends}${e.adopted ? "a" : ""}${e.countedStart}${e.countedFailed}`;
    return key;
  };
  const { pair, open, failed, unacked, locked, deleted } = service;
  let key = `${name(pair)}${name(open?.offered)}${failed}${unacked}${locked}${deleted}|${acked.map(name).join("")}`;
  for (const paper of papers)
    key +=
      "pair" in paper
        ? `<${name(paper.pair)}`
        : `<${id(paper.exchange)}${name(paper.old)}${name(paper.new)}`;
  for (const { store, process, truth } of machines) {
    key += `|${storeKey(store)}|${truth.isSilent ? "s" : ""}${truth.refused.map(name).sort().join("")}`;
    if (process === null) continue;
    const place = (number: number): number =>
      store.generations.findIndex((g) => g.number === number);
    const { at, command, purpose, exchange, pairs, tried, forced, repeated, offered, before } =
      process;
    key += `${at}${command.name}${purpose}${id(exchange)}p${pairs.map(place).join("")}${tried.map(place).join("")}${forced}${repeated}${name(offered)}${before > 0}`;
  }
  if (backup !== null) key += `|${storeKey(backup)}`;
  if (file !== null)
    key += `|${file.isOpen}${file.isSole}${JSON.stringify({ ...file.attempts, refused: file.attempts.refused.map(name) })}`;
  if (withLeft) key += `|${left.runs}.${left.faults}.${left.events}`;
  return key + (fault ?? "");
}
