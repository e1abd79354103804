import { asVaultError, VaultError } from "../../../../src/errors.ts";
import { acknowledgeOpen } from "../../../../src/exchange/end.ts";
import { applyTo, type Breaker, type ServiceBreaker } from "../../../../src/exchange/breaker.ts";
import type {
  ExchangeContext,
  EndCall,
  Reply,
  StartCall,
  VaultSession,
} from "../../../../src/exchange/ports.ts";
import { HandoverFailure, type Handover } from "../../../../src/exchange/recovery.ts";
import { runExchange } from "../../../../src/exchange/run.ts";
import type { Start } from "../../../../src/exchange/start/start.ts";
import { creditCard } from "../../../support/examples.ts";
import { handsOver, startOf } from "../../../support/in-process.ts";
import { kind, type RealService } from "./service.ts";
import type { RealStore } from "./store.ts";
import type { Command } from "../state.ts";

/** A call of a port, as the engine makes it: it goes on when it is let. */
interface Asked {
  /** In the words of `askedBy` (conformance.ts). */
  call: string;
  /** With what the network, or the user, makes of it. */
  go(outcome: string): void;
}

export type Event = Asked | { code: string };

/** The process is dead: nothing that it does takes effect. */
class Died extends Error {}

/** The steps of a session: everything that others could see of it. */
export const writing = [
  "recordIntent",
  "noteOutcome",
  "recordStarted",
  "hold",
  "recordEnding",
  "settle",
  "acknowledge",
] as const satisfies readonly (keyof VaultSession)[];
type Writing = (typeof writing)[number];

/** By the clock of the program a token dies only where a command or a call says so: the service's is another. */
const noon = Date.parse("2026-11-20T12:00:00Z");
/** A trial is due by then, whatever its vault has lost, and the hour is not over after which no probe is needed. */
const halfAnHour = 1_800_000;
/** No token lives that long. */
const ages = 365 * 86_400_000;

/** The real engine on real parts, one call of a port at a time. */
export class RealEngine {
  readonly #store: RealStore;
  readonly #service: RealService;
  #time = noon;
  /** By how much the wall clock is ahead of the monotonic one. */
  #ahead = 0;
  #isDead = false;
  /** How the trial goes out that is due now; null where the last start was only just lost. */
  #trial: "the trial is due" | "the probe is answered" | null = null;
  /** It is about to wait for a trial. */
  #isWaiting = false;
  #tell: (event: Event) => void = () => undefined;
  #next: Promise<Event> = Promise.resolve({ code: "" });

  constructor(store: RealStore, service: RealService) {
    this.#store = store;
    this.#service = service;
  }

  /** Runs a command up to its first call, or to its end. */
  async begin(command: Command, generation: number | undefined): Promise<Event> {
    this.#isDead = false;
    this.#trial = null;
    this.#time = noon;
    this.#ahead = command.lapsed ? ages : 0;
    this.#listen();
    // The next one to listen is told: by then it may be another.
    this.#work(command, generation).then(
      (code) => this.#tell({ code }),
      (error: unknown) =>
        this.#tell({ code: error instanceof Died ? "died" : asVaultError(error).code }),
    );
    return await this.#next;
  }

  /** Lets the pending call happen with this outcome, and waits for the next one. */
  async step(asked: Asked, outcome: string): Promise<Event> {
    this.#listen();
    asked.go(outcome);
    return await this.#next;
  }

  /** Kills it at the pending call. */
  async die(asked: Asked): Promise<void> {
    this.#isDead = true;
    await this.step(asked, "dies");
  }

  #listen(): void {
    this.#next = new Promise((resolve) => (this.#tell = resolve));
  }

  async #ask(call: string): Promise<string> {
    if (this.#isDead) throw new Died();
    const outcome = await new Promise<string>((go) => this.#tell({ call, go }));
    if (outcome === "dies") throw new Died();
    return outcome;
  }

  async #work(command: Command, generation: number | undefined): Promise<string> {
    await this.#store.breaker.read();
    const context = this.#context();
    if (command.do === "ack") {
      const choice = { unread: command.unread === true, saved: command.saved === true };
      return (await acknowledgeOpen(context, choice)) === null ? "nothing" : "ok";
    }
    const start: Start = {
      ...startOf(context.session, command.do),
      kind,
      ...(generation === undefined ? {} : { generation }),
      force: command.force === true,
      noAck: command.noAck === true,
      discardPending: command.discard === true,
      newVault: { creditCard },
    };
    let leavesState = command.out === true;
    const deliver: Handover["deliver"] = async ({ exchange }) => {
      const outcome = await this.#ask("deliver");
      if (outcome !== "failed") this.#store.seen.add(this.#store.exchangeNumber(exchange.id));
      const isDelivered = outcome === "save-failed";
      // In the model, a save is owed only where it has failed itself.
      leavesState &&= outcome !== "failed";
      if (outcome !== "delivered")
        throw new HandoverFailure(isDelivered ? "save-cmd" : "delivery", outcome);
    };
    const handover = {
      ...handsOver(deliver),
      get leavesState() {
        return leavesState;
      },
    };
    await runExchange(context, start, handover);
    return "ok";
  }

  #context(): ExchangeContext {
    const clock = {
      now: () => this.#time + this.#ahead,
      elapsed: () => this.#time,
      sleep: async () => {
        if (!this.#isWaiting) return;
        this.#isWaiting = false;
        // Who waits takes an error of the clock for the end of the pause: for the dead no time is left.
        const outcome = await this.#ask("trial").catch(() => "");
        if (outcome === "the trial is due" || outcome === "the probe is answered")
          this.#trial = outcome;
        else this.#time += 60_000;
      },
    };
    return {
      session: this.#session(),
      service: {
        admit: async () => Promise.resolve(),
        call: async (call) => {
          if (call.step === "probe")
            return { type: "answer", answer: { httpStatus: 404, body: { responseStatus: {} } } };
          if (call.step !== "start" && call.step !== "end") throw new Error("no such call here");
          const outcome = await this.#ask(await this.#nameOf(call));
          // The token that a start may bring has all its time before it.
          if (call.step === "start") this.#ahead = 0;
          return this.#late(outcome, (what) => this.#service.call(call, what));
        },
      },
      breaker: this.#breaker(),
      clock,
      policy: { failedAttempts: 3, unackedStarts: 5 },
      signal: new AbortController().signal,
      killed: new AbortController().signal,
      deadline: this.#time + 10_000,
      settled: new Map(),
      emit: ({ type }) => {
        if (type === "waiting") this.#isWaiting = true;
      },
      redact: (text) => text,
      learnSecret: () => undefined,
    };
  }

  /** The real one, which waits for a trial until that is asked for. */
  #breaker(): ServiceBreaker {
    const real = this.#store.breaker;
    const shown = (breaker: Breaker): Breaker =>
      breaker.lostAt === null
        ? breaker
        : {
            ...breaker,
            lostAt: real.now() - (this.#trial === null ? 0 : halfAnHour),
            probes: this.#trial === "the probe is answered" ? "answered" : "unanswered",
            probedUntil: 0,
          };
    return {
      get known() {
        return shown(real.known);
      },
      now: () => real.now(),
      read: async () => shown(await real.read()),
      replace: async (before, next) => {
        const isDone = await real.replace(before, next);
        // What is recorded next has a later time than that at which it was closed, also in milliseconds.
        while (real.now() <= next.since) await real.read();
        return isDone;
      },
    };
  }

  async #nameOf(call: StartCall | EndCall): Promise<string> {
    const { pairs } = this.#store;
    const pair =
      call.step === "start" ? pairs.number(call.credentials) : pairs.numberOfToken(call.token);
    return `send-${call.step} ${call.operation} ${await this.#place(pair)}`;
  }

  /** How far a pair is from the newest one that is not superseded. */
  async #place(pair: number): Promise<number> {
    const live = (await this.#store.readGenerations()).filter(
      ({ standing }) => standing !== "superseded",
    );
    return live.length - live.findLastIndex((generation) => generation.pair === pair);
  }

  #late(outcome: string, call: (outcome: string) => Reply): Reply {
    const [, what = "", then] =
      /^(.*?)(, and no time is left|, and the token is past its expiry)?$/.exec(outcome) ?? [];
    if (then?.endsWith("left")) this.#time += 60_000;
    else if (then !== undefined) this.#ahead += ages;
    return call(what);
  }

  /** The real session, each of whose writes is asked for. */
  #session(): VaultSession {
    const real = this.#store.session;
    const known = new Map<PropertyKey, unknown>();
    return new Proxy(real, {
      get: (_, name) => {
        const value = Reflect.get(real, name, real) as unknown;
        if (typeof value !== "function") return value;
        if (!known.has(name))
          known.set(name, this.#asked(name, value as (...values: unknown[]) => Promise<unknown>));
        return known.get(name);
      },
    });
  }

  #asked(
    name: PropertyKey,
    method: (...values: unknown[]) => Promise<unknown>,
  ): (...values: unknown[]) => Promise<unknown> {
    const real = this.#store.session;
    if (!writing.includes(name as Writing))
      return async (...values) => await method.apply(real, values);
    return async (...values) => {
      await this.#ask(await this.#written(name as Writing, values));
      if (name === "recordIntent") this.#trial = null;
      return await method.apply(real, values);
    };
  }

  async #written(name: Writing, [first, second, third]: unknown[]): Promise<string> {
    const words = (...facts: unknown[]): string => [name, ...facts].join(" ");
    if (name === "recordIntent") {
      const intent = first as { operation: string; generation: number };
      const pair =
        (await this.#store.readGenerations()).find(({ number }) => number === intent.generation)
          ?.pair ?? -1;
      return words(intent.operation, await this.#place(pair));
    }
    if (name === "noteOutcome" || name === "settle") return words(second);
    if (name === "recordStarted") {
      const { limited, elsewhere } = second as { limited: boolean; elsewhere: boolean };
      return words(limited, elsewhere);
    }
    if (name === "recordEnding") return words(second);
    const facts = third as { delivered: boolean; saveOwed: boolean };
    return name === "hold" ? words(facts.delivered, facts.saveOwed) : name;
  }

  /** `vault guard --reset --unanswered`, as the command does it. */
  async resetUnanswered(): Promise<void> {
    const { session, breaker } = this.#store;
    await session.resetCounters("unanswered");
    await applyTo(breaker, { type: "answered", at: breaker.now() });
    while (breaker.now() <= breaker.known.since) await breaker.read();
  }

  /** `vault import` of a pair, as the command does it. Returns false where it is refused. */
  async importPair(pair: number): Promise<boolean> {
    const { session, pairs } = this.#store;
    try {
      await session.recordPair({ credentials: pairs.pair(pair), kind });
      return true;
    } catch (error) {
      if (error instanceof VaultError) return false;
      throw error;
    }
  }
}
