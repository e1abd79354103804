import type { Call, Clock, Reply, Service, VaultSession } from "../../../src/exchange/ports.ts";
import { openSandbox } from "../../../src/sandbox/server.ts";
import { fingerprint } from "../../../src/protocol/fingerprint.ts";
import { requestOf, type HttpRequest } from "../../../src/service/http.ts";
import { type Dice } from "../../support/dice.ts";
import {
  answerOf,
  application,
  handsOver,
  lockHere,
  startOf,
  target,
} from "../../support/in-process.ts";
import { applyTo } from "../../../src/exchange/breaker.ts";
import { asVaultError } from "../../../src/errors.ts";
import { acknowledgeOpen } from "../../../src/exchange/end.ts";
import { withVault } from "../../../src/exchange/lock-vault.ts";
import { runExchange } from "../../../src/exchange/run.ts";
import type { Start } from "../../../src/exchange/start/start.ts";
import type { PostgresStore } from "../../../src/store/postgres/store.ts";
import { writing } from "../model/conformance/engine.ts";
import { creditCard } from "../../support/examples.ts";

type Sending = (name: string, call: () => Reply) => Promise<Reply>;

/** The service with one vault, behind a network whose weather is drawn by lot. */
export class TeamService {
  readonly sandbox;
  readonly uuid: string;
  readonly #handle;
  readonly #dice: Dice;
  readonly #log: string[];

  constructor(now: () => number, dice: Dice, log: string[]) {
    const { sandbox } = openSandbox({
      now,
      application,
      seed: [{ kind: "credit-card/offline", creditCard }],
      policy: { tokenTtlMs: 60_000, rate: 0 },
    });
    this.sandbox = sandbox;
    this.#handle = sandbox.handle;
    this.uuid = sandbox.vaults()[0]?.uuid ?? "";
    this.#dice = dice;
    this.#log = log;
  }

  /** What sends the calls of one process, each by way of `sending`. */
  calls(sending: Sending, mayFail: boolean): (call: Call) => Promise<Reply> {
    return async (call) =>
      await sending(call.step, () => this.#exchange(call.step, requestOf(target, call), mayFail));
  }

  /** Fingerprint of the pair that it accepts. */
  accepted(): string {
    return fingerprint(this.uuid, this.sandbox.inspect(this.uuid).pair);
  }

  /** An administrator unlocks the vault. */
  unlock(): void {
    this.sandbox.unlock(this.uuid);
  }

  #exchange(name: string, request: HttpRequest, mayFail: boolean): Reply {
    const weather = mayFail
      ? this.#dice.draw([
          { weight: 20, what: "fine" },
          { weight: 1, what: "not sent" },
          { weight: 1, what: "lost" },
          { weight: 1, what: "answer lost" },
        ]).what
      : "fine";
    this.#log.push(`  ${name}: ${weather}`);
    if (weather === "not sent") return { type: "not-sent", cause: "connection refused" };
    if (weather === "lost") return { type: "no-answer", cause: "reset" };
    const answer = answerOf(this.#handle, request);
    return weather === "answer lost"
      ? { type: "no-answer", cause: "reset" }
      : { type: "answer", answer };
  }
}

export type Command =
  | "get"
  | "update"
  | "ack"
  | "get --no-ack"
  | "get --discard-pending"
  | "guard --reset"
  | `get --generation ${number}`;

/** What a process uses beside its own store. */
interface Surroundings {
  clock: Clock;
  uuid: string;
  send(call: Call): Promise<Reply>;
  probe(): boolean;
}

/** The real engine on a real store, as one of several processes: it stops before each thing that others could see, until it is let. */
export class TeamProcess {
  readonly store: PostgresStore;
  readonly #around: Surroundings;
  /** What it is about to do; null where it does nothing. */
  at: string | null = null;
  #go: () => void = () => undefined;
  #stopped: () => void = () => undefined;
  /** The exit of its last command. */
  code = "";

  constructor(store: PostgresStore, around: Surroundings) {
    this.store = store;
    this.#around = around;
  }

  /** Runs a command up to where it stops first. */
  async begin(command: Command): Promise<void> {
    await this.#untilStop(() => {
      this.#run(command).then(
        () => this.#end("ok"),
        (error: unknown) => this.#end(asVaultError(error).code),
      );
    });
  }

  /** Lets it do what it is about to do, and go on to where it stops next, or ends. */
  async step(): Promise<void> {
    await this.#untilStop(this.#go);
  }

  async #untilStop(go: () => void): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#stopped = resolve;
      go();
    });
  }

  #end(code: string): void {
    this.at = null;
    this.code = code;
    this.#stopped();
  }

  async #gate(at: string): Promise<void> {
    await new Promise<void>((resolve) => {
      this.at = at;
      this.#go = resolve;
      this.#stopped();
    });
  }

  async #run(command: Command): Promise<void> {
    const { clock, uuid, send, probe } = this.#around;
    const store = this.store;
    let call = "";
    const sending: Service = {
      admit: async () => Promise.resolve(),
      call: async (sent, _, ready) => {
        await ready?.();
        if (sent.step !== "probe") return await send(sent);
        return probe()
          ? { type: "answer", answer: { httpStatus: 404, body: { responseStatus: {} } } }
          : { type: "no-answer", cause: "reset" };
      },
    };
    const context = await lockHere(
      {
        store: {
          breaker: store.breaker.bind(store),
          find: store.find.bind(store),
          lock: async (...given) => this.#gated(await store.lock(...given)),
        },
        // Before the program makes sure that the vault is still its own: nothing else happens between that and the call.
        service: async () => {
          await this.#gate(`send ${call}`);
          return sending;
        },
        clock,
      },
      30,
      uuid,
    );
    const { service } = context;
    context.service = {
      ...sending,
      call: async (sent, given) => {
        call = sent.step;
        return await service.call(sent, given);
      },
    };
    await withVault(context, async () => {
      if (command === "guard --reset") {
        // And a person says that the service works: these clocks stand still, so that no trial comes due.
        const { breaker } = context;
        await applyTo(breaker, { type: "answered", at: breaker.now() });
        return await context.session.resetCounters("all");
      }
      if (command === "ack")
        return void (await acknowledgeOpen(context, { unread: false, saved: false }));
      const start: Start = {
        ...startOf(context.session, command === "update" ? "update" : "get"),
        newVault: { creditCard },
        noAck: command === "get --no-ack",
        discardPending: command === "get --discard-pending",
        generation: command.startsWith("get --generation")
          ? Number(command.split(" ")[2])
          : undefined,
      };
      await runExchange(
        context,
        start,
        handsOver(async () => await this.#gate("deliver")),
      );
    });
  }

  #gated(session: VaultSession): VaultSession {
    return new Proxy(session, {
      get: (_, name) => {
        const value = Reflect.get(session, name, session) as unknown;
        if (typeof value !== "function") return value;
        const method = value.bind(session) as (...given: unknown[]) => Promise<unknown>;
        // Others, like the clock of the state, give what they give at once.
        if (!(writing as readonly string[]).includes(String(name))) return method;
        return async (...given: unknown[]) => {
          await this.#gate(String(name));
          return await method(...given);
        };
      },
    });
  }
}
