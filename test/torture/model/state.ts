/**
 * The protocol as a model: service, durable state and processes. Of a pair of credentials only its identity matters, and a token is as
 * good as the pair that it was handed out with: both are a number.
 *
 * The model is written from docs/design.md and docs/interface.md and not from the program: it imports nothing of it. What compares the
 * two is in conformance/, and only there.
 */
export interface State {
  service: Service;
  store: Store;
  /** One place for each process that may run; empty where none does. */
  processes: (Process | null)[];
  /** The next number for a pair, an exchange or a generation; not part of what tells states apart. */
  fresh: number;
  /** A request that was believed lost, and is still on its way. */
  delayed: Delayed | null;
  /** Steps so far in which something went wrong, where there is a bound to them. */
  mishaps: number;
  /** A step that must not happen was taken. */
  fault: string | null;
  truth: Truth;
}

/** What has happened, whatever the program knows of it: for the invariants alone. */
export interface Truth {
  /** The last start that was sent got no answer, and no person has said since that the service is back. */
  isSilent: boolean;
  /** Some of the starts that count as unanswered have reached the service, as its audit log shows. */
  hasArrived: boolean;
  /** Some of the starts that count as possibly failed are those of processes that have died. */
  hasDied: boolean;
  /** A person has set the number of starts to what the audit log shows, which may have been any of them. */
  isSet: boolean;
  /** Pairs that were refused to us, and neither accepted since nor imported again. */
  refused: number[];
}

export type Operation = "get" | "update";
type Delayed = { start: number; operation: Operation } | { end: number };

/** See docs/interface.md, Lockout. */
export interface Service {
  /** The only pair that a start accepts. */
  pair: number;
  /** The exchange whose token lives. */
  open: { offered: number; operation: Operation } | null;
  failed: number;
  unacked: number;
  locked: boolean;
  deleted: boolean;
  /** Reads that remain; null without limit. */
  uses: number | null;
}

/** Of an exchange: ①, ②, held, ③, ④, and what else becomes of it. */
type Stage =
  | "intent"
  | "started"
  | "held"
  | "ending"
  | "acknowledged"
  | "expired"
  | "discarded"
  | "rejected"
  | "in-doubt";

/** Of credentials among the candidates: before the others, or after them. */
export type Placed = "successor" | "older";

export interface Generation {
  /** Ascending. */
  number: number;
  pair: number;
  standing: "imported" | "current" | "offered" | "superseded" | "void";
  proven: boolean;
  /** Also known outside of this state. */
  elsewhere: boolean;
  /** A start with it was refused since it was last accepted. */
  refused: boolean;
  /** Where an imported one stands among the candidates. */
  placed: Placed | null;
  /** An end call for a successor may have been sent since it was last accepted. */
  ended: boolean;
}

export interface Exchange {
  id: number;
  operation: Operation;
  state: Stage;
  base: number;
  next: number | null;
  delivered: boolean;
  saveOwed: boolean;
  /** End calls that may have been sent and were not answered. */
  ends: number;
  limited: boolean;
  /** The row of the table; null until the call has ended, and where its process has died. */
  outcome: "nothing" | "refused" | "no whole answer" | "success" | null;
  /** Its credentials were sole when it was begun. */
  isSole: boolean;
  /** Taken over from a recovery document. */
  adopted: boolean;
  /** The truth, which the program does not know after a crash: a user has had the contents, or has waived them. */
  seen: boolean;
  /** The truth, which only an audit log shows: the start has reached the service. */
  arrived: boolean;
}

/** What is durable for the vault. */
export interface Store {
  /** Those whose pair is still kept, oldest first. */
  generations: Generation[];
  /** Pairs that were refused. */
  refused: number[];
  /** Oldest first. */
  exchanges: Exchange[];
  /** What stands for all exchanges up to one, or for those that are gone. */
  carried: Counts | null;
  upTo: number | null;
  limited: boolean;
  breaker: Breaker;
  /** When the token of the last start that succeeded here expires, on a clock that counts starts; null where none has. */
  proof: number | null;
}

/** Toward lockout, by our records. */
export interface Counts {
  unacked: number;
  failed: number;
  /** The part of `failed` that is only possible. */
  possibly: number;
  /** The part of `unacked` that got no answer. */
  unanswered: number;
}

/** The circuit breaker of the service. */
interface Breaker {
  /** Only trials go out. */
  isOpen: boolean;
  /** The last exchange before it was closed: an older ① without an outcome does not open it. */
  closedAfter: number;
}

/** A recovery document, as it leaves a state before ③. */
export interface Document {
  exchange: number;
  operation: Operation;
  old: number;
  /** Also its token, and when that expires. */
  new: number;
  unread: boolean;
}

/** What a person runs. */
export interface Command {
  name: string;
  do: Operation | "ack";
  force?: true;
  /** By somebody who has looked at the counters: only where they allow another start. */
  careful?: true;
  /** --generation, by somebody who knows which pair is the right one. */
  chooses?: true;
  noAck?: true;
  discard?: true;
  /** The token of the held exchange has expired, by the program's clock. */
  lapsed?: true;
  unread?: true;
  saved?: true;
  /** --credentials-out or --save-cmd: a recovery document leaves the state before the end call. */
  out?: true;
  /** `vault delete`: a start that has nothing to acknowledge. */
  deletes?: true;
}

/** Where a process is: what it does next. Between two of these it may die. */
export type Point =
  /** Waits until the breaker lets a trial out. */
  | "trial"
  /** ① */
  | "intent"
  | "send-start"
  /** It has an answer other than a success, and writes what that says. */
  | "start-answered"
  /** ② */
  | "started"
  | "deliver"
  | "held"
  /** ③ */
  | "ending"
  | "send-end"
  /** ④, or what else it says. */
  | "end-answered";

export type StartReply =
  | "success"
  | "unusable"
  | "refused"
  | "locked"
  | "gone"
  | "rate"
  | "application"
  | "unknown"
  | "not-sent"
  | "no-answer";
export type EndReply =
  "success" | "token" | "locked" | "rate" | "application" | "not-sent" | "no-answer";

export interface Process {
  at: Point;
  command: Command;
  /** Why it acknowledges: what it has just read, what a run before it left, or because it was told to. */
  purpose: "own" | "left" | "ack";
  /** Its exchange, from ① or the acknowledgement of a left one on. */
  exchange: number | null;
  /** Generations that are candidates, the one that is tried first. */
  pairs: number[];
  /** Those that this command has tried, and that were refused. */
  tried: number[];
  /** --force has not been used up: it lets one request through. */
  forced: boolean;
  /** The automatic repetition is used up. */
  repeated: boolean;
  /** As what the breaker has let its start out, by time alone or after a probe; null where it is closed, or --force goes past it. */
  trial: "due" | "probed" | null;
  reply: StartReply | EndReply | null;
  /** The pair, and so the token, that it has in memory: handed out by a success, or of the exchange that was left. */
  offered: number | null;
  limited: boolean;
  /** --max-wait has passed. */
  late: boolean;
  /** By the program's clock the token is past its expiry. */
  stale: boolean;
  /** Unanswered end calls before the one that is sent. */
  before: number;
  hold: { delivered: boolean; saveOwed: boolean } | null;
  /** Another process has taken its lock: none of its writes takes effect any more. */
  fenced: boolean;
}

/** A copy to be changed. */
export function edit({ service, store, processes, truth, ...rest }: State): State {
  return {
    ...rest,
    service: copyService(service),
    store: copyStore(store),
    processes: processes.map(copyProcess),
    truth: copyTruth(truth),
  };
}

export const copyTruth = (truth: Truth): Truth => ({ ...truth, refused: [...truth.refused] });
export const firstTruth = (): Truth => ({
  isSilent: false,
  hasArrived: false,
  hasDied: false,
  isSet: false,
  refused: [],
});

export const copyService = (service: Service): Service => ({
  ...service,
  open: service.open === null ? null : { ...service.open },
});

export const copyStore = (store: Store): Store => ({
  ...store,
  generations: store.generations.map((generation) => ({ ...generation })),
  refused: [...store.refused],
  exchanges: store.exchanges.map((exchange) => ({ ...exchange })),
  carried: store.carried === null ? null : { ...store.carried },
  breaker: { ...store.breaker },
});

export const copyProcess = (process: Process | null): Process | null =>
  process === null ? null : { ...process, pairs: [...process.pairs], tried: [...process.tried] };

export const openStates: readonly Stage[] = ["started", "held", "ending", "in-doubt"];
export const openOf = (store: Store): Exchange | undefined =>
  store.exchanges.find((e) => openStates.includes(e.state));
export const exchangeOf = (store: Store, id: number | null): Exchange | undefined =>
  store.exchanges.find((e) => e.id === id);
export const generationOf = (store: Store, number: number | null): Generation | undefined =>
  store.generations.find((g) => g.number === number);

/** Nothing is known of the vault. */
export const emptyStore = (): Store => ({
  generations: [],
  refused: [],
  exchanges: [],
  carried: null,
  upTo: null,
  limited: false,
  breaker: { isOpen: false, closedAfter: 0 },
  proof: null,
});

/** A vault whose first pair is imported, at a service that has never been asked. */
export function firstState(processes: number, uses: number | null): State {
  return {
    service: { pair: 1, open: null, failed: 0, unacked: 0, locked: false, deleted: false, uses },
    store: {
      ...emptyStore(),
      generations: [
        {
          number: 1,
          pair: 1,
          standing: "imported",
          proven: false,
          elsewhere: true,
          refused: false,
          placed: null,
          ended: false,
        },
      ],
    },
    processes: Array.from({ length: processes }, () => null),
    fresh: 2,
    delayed: null,
    mishaps: 0,
    fault: null,
    truth: firstTruth(),
  };
}
