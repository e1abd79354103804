import {
  copyProcess,
  copyService,
  copyStore,
  copyTruth,
  emptyStore,
  exchangeOf,
  firstTruth,
  generationOf,
  openOf,
  type Command,
  type Document,
  type EndReply,
  type Process,
  type Service,
  type State,
  type Store,
  type Truth,
} from "../state.ts";
import { lockAt } from "../service.ts";
import { counted } from "../store.ts";

/**
 * Several holders of one vault's credentials: states of the program on different machines, and what lies outside of them. The
 * store and the decisions are those of the finer model; here a request is one step, and all that is written up to the next one too.
 */
export interface Holders {
  service: Service;
  /** Tokens that were acknowledged. */
  acked: number[];
  machines: { store: Store; process: Process | null; truth: Truth }[];
  /** Recovery documents and exports, and what a colleague's software holds. */
  papers: Paper[];
  backup: Store | null;
  left: Left;
  fresh: number;
  fault: string | null;
}

export type Paper = Document | { pair: number };

/** How often something may still happen. */
export interface Left {
  runs: number;
  faults: number;
  events: number;
}

export type Event = "import" | "export" | "backup" | "restore" | "copy" | "colleague" | "forget";

export interface HolderBounds {
  name: string;
  left: Left;
  /** The first machine holds the vault; the second one, if there is one, nothing. */
  machines: number;
  commands: readonly Command[];
  events: readonly Event[];
  papers: number;
  /** To the repetition of an acknowledged end call. */
  repeat: EndReply & ("success" | "token" | "no-answer");
  /** Only one state sends: the vault must never be locked. */
  alone: boolean;
  /** What lies around at first. */
  first?: (holders: Holders) => void;
}

export function firstHolders(bounds: HolderBounds): Holders {
  const store = emptyStore();
  store.generations.push({
    number: 1,
    pair: 1,
    standing: "current",
    proven: true,
    elsewhere: false,
    refused: false,
    placed: null,
    ended: false,
  });
  const machines = Array.from({ length: bounds.machines }, (_, place) => ({
    store: place === 0 ? store : emptyStore(),
    process: null,
    truth: firstTruth(),
  }));
  const service = {
    pair: 1,
    open: null,
    failed: 0,
    unacked: 0,
    locked: false,
    deleted: false,
    uses: null,
  };
  const holders: Holders = {
    service,
    acked: [],
    machines,
    papers: [],
    backup: null,
    left: { ...bounds.left },
    fresh: 10,
    fault: null,
  };
  bounds.first?.(holders);
  return holders;
}

export const editHolders = (holders: Holders): Holders => ({
  ...holders,
  service: copyService(holders.service),
  acked: [...holders.acked],
  machines: holders.machines.map(({ store, process, truth }) => ({
    store: copyStore(store),
    process: copyProcess(process),
    truth: copyTruth(truth),
  })),
  papers: [...holders.papers],
  left: { ...holders.left },
});

export const letters = "AB";

/** Lets a machine do something as the only process of the finer model. */
export function on<T>(holders: Holders, place: number, change: (view: State) => T): T {
  const machine = holders.machines[place] as Holders["machines"][number];
  const view: State = {
    service: holders.service,
    store: machine.store,
    processes: [machine.process],
    fresh: holders.fresh,
    delayed: null,
    mishaps: 0,
    fault: holders.fault,
    truth: machine.truth,
  };
  const result = change(view);
  machine.store = view.store;
  machine.process = view.processes[0] ?? null;
  holders.fresh = view.fresh;
  holders.fault = view.fault;
  return result;
}

export const storeAt = ({ machines }: Holders, place: number): Store =>
  (machines[place] as Holders["machines"][number]).store;

export const pairsOf = (paper: Paper): number[] =>
  "pair" in paper ? [paper.pair] : [paper.old, paper.new];

export const same = (one: Paper, other: Paper): boolean =>
  "pair" in one
    ? "pair" in other && one.pair === other.pair
    : !("pair" in other) && one.exchange === other.exchange;

/** Takes out what nothing depends on any more. */
export function prune(holders: Holders): void {
  const { machines, backup, service, papers } = holders;
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
    const own = exchangeOf(store, process?.exchange ?? null);
    const isUnderWay = own?.state === "intent";
    // Without what a process is still to settle.
    const counts = counted({
      ...store,
      exchanges: store.exchanges.filter((e) => e !== own || !isUnderWay),
    });
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
      if (e !== own || !isUnderWay) e.outcome = "nothing";
    }
    const isNone = counts.unacked === 0 && counts.failed === 0;
    const failed = Math.min(counts.failed, lockAt.failed + 1);
    store.upTo = null;
    store.carried = isNone
      ? null
      : {
          unacked: Math.min(counts.unacked, lockAt.unacked),
          unanswered: Math.min(counts.unanswered, counts.possibly),
          failed,
          possibly: Math.min(counts.possibly, failed),
        };
    truth.refused = truth.refused.filter((pair) => spokenOf.has(pair));
  }
  const tokens = new Set(
    machines.flatMap(({ store }) => store.generations.map((g) => g.pair)).concat([...spokenOf]),
  );
  holders.acked = holders.acked.filter((token) => tokens.has(token)).sort((a, b) => a - b);
}

/** Pairs by their age, generations and exchanges by their place: with or without what may still happen. */
export function keyOf(holders: Holders, withLeft: boolean): string {
  const { service, acked, machines, papers, backup, left, fault } = holders;
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
    let key = `${store.carried === null ? "" : Object.values(store.carried).join("")}${store.breaker.isOpen ? "o" : ""}${name(store.proof)}`;
    for (const g of store.generations)
      key += `,${name(g.pair)}${g.standing[0]}${g.proven ? "!" : ""}${g.elsewhere ? "e" : ""}${g.ended ? "x" : ""}${g.refused ? "r" : ""}${g.placed?.[0] ?? ""}`;
    key += `?${store.refused.map(name).sort().join("")}`;
    for (const e of store.exchanges)
      key += `;${id(e.id)}${e.state}${place(e.base)}${place(e.next)}${e.ends}${e.adopted ? "a" : ""}${e.outcome?.slice(0, 3) ?? "-"}${e.isSole ? "=" : ""}`;
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
  if (withLeft) key += `|${left.runs}.${left.faults}.${left.events}`;
  return key + (fault ?? "");
}
