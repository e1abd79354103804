import { commandsOf } from "../../../support/help.ts";
import { durableKey, isBeyondCounting } from "../keys.ts";
import { asDesigned } from "../protocol.ts";
import { RealEngine, type Event } from "./engine.ts";
import { kind, RealService } from "./service.ts";
import { RealStore, type Engine } from "./store.ts";
import type { Generation, Process, State, Store } from "../state.ts";
import { exchangeOf, generationOf, openOf } from "../state.ts";
import type { ModelStep } from "../world.ts";
import { newId, type VaultRecord } from "../../../../src/exchange/records.ts";
import { waysOn as realWaysOn } from "../../../../src/exchange/refusals.ts";
import { client, waysOn, type Way } from "../client.ts";

const noon = Date.parse("2026-11-20T12:00:00Z");

/** What the model expects a process to call next. */
function askedBy(state: State, process: Process): string {
  const { at, reply, purpose } = process;
  const exchange = exchangeOf(state.store, process.exchange);
  const live = state.store.generations.filter(({ standing }) => standing !== "superseded");
  const place = (pair: number | null | undefined): number =>
    live.length - live.findLastIndex((generation) => generation.pair === pair);
  const operation = process.command.do === "update" ? "update" : "get";
  switch (at) {
    case "trial":
      return "trial";
    case "intent":
      return `recordIntent ${operation} ${place(generationOf(state.store, process.pairs[0] ?? null)?.pair)}`;
    case "send-start":
      return `send-start ${operation} ${place(generationOf(state.store, exchange?.base ?? null)?.pair)}`;
    case "start-answered":
      if (reply === "not-sent" || reply === "rate" || reply === "application")
        return "noteOutcome free";
      if (reply === "locked" || reply === "gone") return "noteOutcome no-starts";
      if (reply === "unusable") return "noteOutcome success";
      return `noteOutcome ${reply === "refused" ? reply : "none"}`;
    case "started":
      return `recordStarted ${process.limited || state.store.limited} ${process.command.out === true}`;
    case "deliver":
      return "deliver";
    case "held":
      return `hold ${process.hold?.delivered} ${process.hold?.saveOwed}`;
    case "ending":
      return `recordEnding ${purpose === "own" || exchange?.delivered === true}`;
    case "send-end":
      return `send-end ${exchange?.operation} ${place(process.offered)}`;
    case "end-answered":
      if (reply === "success") return "acknowledge";
      if (reply === "no-answer") return "settle in-doubt";
      if (reply !== "token") return "settle ending";
      return asDesigned.client.deadToken(state.store, process.exchange, process.before) ===
        "expired"
        ? "settle expired"
        : "settle in-doubt";
  }
}

/** What the driver lets happen for a step of the model: what stands behind the colon, or the word for the delivery. */
function outcomeOf(label: string): string {
  if (label === "the contents are delivered") return "delivered";
  if (label === "the delivery fails") return "failed";
  if (label === "the save command fails") return "save-failed";
  return label.replace(/^[^:]*: /, "");
}

/** Raised where the code does something else than the model. */
class Differs extends Error {}

/** The model and the code, side by side. */
export class Conformance {
  readonly #store: RealStore;
  readonly #service: RealService;
  readonly #engine: RealEngine;

  private constructor(store: RealStore) {
    this.#store = store;
    this.#service = new RealService(store.pairs);
    this.#engine = new RealEngine(store, this.#service);
  }

  static async open(engine: Engine): Promise<Conformance> {
    let time = noon;
    // What is written later has a later time.
    const clock = {
      now: () => (time += 1),
      elapsed: () => (time += 1),
      sleep: async (milliseconds: number) => Promise.resolve(void (time += milliseconds)),
    };
    return new Conformance(await RealStore.open(engine, clock));
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  /**
   * Puts the code into a state in which no process runs, and takes it along a path of the model, comparing after each step
   * service, store and what is called next. A path that does not end the process ends with its death.
   */
  async follow(from: State, path: readonly ModelStep[]): Promise<void> {
    await this.#store.load(from.store);
    this.#service.load(from.service, openOf(from.store)?.operation ?? "get");
    await this.#compare(from, undefined, "at first", undefined);
    let event: Event | undefined;
    let before = from;
    const told: string[] = [];
    for (const step of path) {
      told.push(step.label);
      event = await this.#take(before, step, event);
      await this.#compare(step.to, step.code, told.join("\n"), event);
      before = step.to;
      if (isBeyondCounting(step.to)) break;
    }
    if (event !== undefined && "call" in event) await this.#engine.die(event);
  }

  async #take(
    before: State,
    { label, to, place, command }: ModelStep,
    event: Event | undefined,
  ): Promise<Event | undefined> {
    if (place === undefined) {
      await this.#happen(label, before, to);
      return event !== undefined && "call" in event ? event : undefined;
    }
    if (command?.unread) await this.#waive();
    if (command !== undefined)
      return await this.#engine.begin(
        command,
        command.chooses ? ((await this.#chosen()) ?? -1) : undefined,
      );
    if (event === undefined || "code" in event) throw new Error(`no process is at work: ${label}`);
    if (label === "the process dies") {
      await this.#engine.die(event);
      return { code: "died" };
    }
    return await this.#engine.step(event, outcomeOf(label));
  }

  /** Who acknowledges unread has given up the contents. */
  async #waive(): Promise<void> {
    const open = openOf(await this.#store.read());
    if (open !== undefined && open.state !== "in-doubt") this.#store.seen.add(open.id);
  }

  /** --generation N of the newest one that holds the pair that the service accepts. */
  async #chosen(): Promise<number | undefined> {
    const { pair } = this.#service.read();
    return (await this.#store.readGenerations()).findLast(
      (g) => g.pair === pair && g.standing !== "superseded",
    )?.number;
  }

  async #happen(label: string, before: State, to: State): Promise<void> {
    if (label === "the token dies") this.#service.tokenDies();
    else if (label === "somebody else sends a wrong pair") this.#service.wrongPair();
    else if (label === "an administrator locks the vault") this.#service.lock();
    else if (label.startsWith("an administrator unlocks")) {
      this.#service.unlock();
      await this.#store.session.resetCounters("all");
    } else if (label === "guard --reset --unanswered") await this.#engine.resetUnanswered();
    else if (label.startsWith("guard --reset --failed")) {
      const { failed, unacked } = this.#service.read();
      await this.#store.session.resetCounters({ failedAttempts: failed, unackedStarts: unacked });
    } else if (label.startsWith("somebody else starts")) {
      const { old, new: offered, token } = this.#service.otherStart(label.includes("acknowledges"));
      const exchangeId = newId({ now: () => noon });
      await this.#store.session.adopt({
        exchangeId,
        kind,
        operation: "get",
        old,
        new: offered,
        token,
        tokenExpiry: null,
        unread: false,
      });
    } else if (label === "import a wrong pair")
      await this.#engine.importPair(to.store.generations.at(-1)?.pair ?? 0);
    else if (label === "import the pair of an exchange that was dropped") {
      const dropped = (generations: readonly Generation[]): number[] =>
        generations.filter((g) => g.standing === "void").map((g) => g.pair);
      const place = dropped(before.store.generations).indexOf(
        to.store.generations.at(-1)?.pair ?? 0,
      );
      await this.#engine.importPair(dropped(await this.#store.readGenerations())[place] ?? 0);
    } else throw new Error(`nothing is known of: ${label}`);
  }

  async #compare(
    model: State,
    code: string | undefined,
    told: string,
    event: Event | undefined,
  ): Promise<void> {
    const process = model.processes[0] ?? null;
    const expected = process === null ? (code ?? "nothing") : askedBy(model, process);
    const happened = event === undefined ? "nothing" : "call" in event ? event.call : event.code;
    if (expected !== happened)
      throw new Differs(`${told}\n\nmodel: ${expected}\ncode:  ${happened}`);
    const real: State = {
      ...model,
      service: this.#service.read(),
      store: await this.#store.read(),
    };
    // Of the process only what the durable state is read with: where it is in which exchange.
    const isLast = process !== null && process.exchange === model.store.exchanges.at(-1)?.id;
    const own = isLast ? real.store.exchanges.at(-1) : openOf(real.store);
    const at = (exchange: number | undefined): (Process | null)[] => [
      process && {
        ...process,
        pairs: [],
        offered: null,
        exchange: process.exchange === null ? null : (exchange ?? null),
      },
    ];
    const inModel = durableKey({ ...model, processes: at(process?.exchange ?? undefined) });
    const inCode = durableKey({ ...real, processes: at(own?.id) });
    if (inModel !== inCode) throw new Differs(`${told}\n\nmodel: ${inModel}\ncode:  ${inCode}`);
  }
}

const policy = { failedAttempts: 3, unackedStarts: 5 };

/** A command that the program names, as the model does. */
function wayIn(command: string): string {
  const [, name = "", rest = ""] = /^vault (\w+) \S+(.*)$/.exec(command) ?? [];
  if (name === "import") return "import";
  return `${name}${rest}`
    .replace(/--generation \d+/, "--generation N")
    .replace("--force --discard-pending", "--force")
    .replace(/^(get|update)(?: --c\w+ @FILE)? --discard-pending.*/, "$1 --discard-pending")
    .replace("--save-cmd CMD", "--saved");
}

/**
 * Where the table of the program (src/exchange/refusals.ts) leads on from a durable state otherwise than the model does; undefined where
 * both name the same commands in the same order. What the service last said of the vault is no part of the model's durable state.
 */
export async function differentWays(
  real: RealStore,
  store: Store,
  modelled: typeof waysOn = waysOn,
): Promise<string | undefined> {
  await real.load(store);
  const known = await real.session.read();
  if (known === null) throw new Error("the vault is not known");
  for (const code of ["", "locked"]) {
    const record = { ...known, lastError: code === "" ? null : errorOf(code) };
    const ways = realWaysOn(record, { policy, clock: { now: () => noon } }).map((way) =>
      wayIn(commandsOf([way]).join()),
    );
    // Where nothing is to be done, a read is what comes next.
    const inCode = ways.length === 0 ? ["get"] : ways;
    const inModel: readonly Way[] = modelled(client, store, code);
    // The candidates are one way, of which each is a command.
    if ([...new Set(inCode)].join() !== inModel.join())
      return `${code} ${JSON.stringify(store)}\nmodel: ${inModel.join("; ")}\ncode:  ${inCode.join("; ")}`;
  }
  return undefined;
}

const errorOf = (code: string): VaultRecord["lastError"] => ({ at: "", code, message: "" });
