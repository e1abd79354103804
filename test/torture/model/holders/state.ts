import type {
  EndReply,
  Command,
  Document,
  Process,
  Service,
  State,
  Store,
  Truth,
} from "../state.ts";
import {
  copyProcess,
  copyService,
  copyStore,
  copyTruth,
  emptyStore,
  firstTruth,
} from "../state.ts";
import type { Attempts } from "../store-part.ts";

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
  /** What a container without a state of its own reads and writes: --credentials and --credentials-out. */
  file: { paper: Paper; attempts: Attempts; isOpen: boolean; isSole: boolean } | null;
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
  /** This machine sends nothing by itself. */
  idle?: number;
  /** The first machine is a container that starts afresh each time, with the file. */
  container?: true;
  /** What lies around at first. */
  first?: (holders: Holders) => void;
}

export const nothingCounted: Attempts = {
  unacked: 0,
  unanswered: 0,
  quiet: 0,
  failed: 0,
  possibly: 0,
  refused: [],
};

export function firstHolders(bounds: HolderBounds, isSole: boolean): Holders {
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
    file: null,
    left: { ...bounds.left },
    fresh: 10,
    fault: null,
  };
  if (bounds.container)
    holders.file = { paper: { pair: 1 }, attempts: nothingCounted, isOpen: false, isSole };
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

export const papersOf = ({ papers, file }: Holders): Paper[] =>
  file === null ? papers : [...papers, file.paper];
export const pairsOf = (paper: Paper): number[] =>
  "pair" in paper ? [paper.pair] : [paper.old, paper.new];

export const same = (one: Paper, other: Paper): boolean =>
  "pair" in one
    ? "pair" in other && one.pair === other.pair
    : !("pair" in other) && one.exchange === other.exchange;
