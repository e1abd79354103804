import { join } from "node:path";
import { tempDir } from "../support/cleanup.ts";
import type { ExchangeContext, Clock, Reply, Service, Store } from "../../src/exchange/ports.ts";
import { withVault } from "../../src/exchange/lock-vault.ts";
import type { VaultRecord } from "../../src/exchange/records.ts";
import type { Credentials } from "../../src/protocol/requests.ts";
import { openSandbox } from "../../src/sandbox/server.ts";
import { requestOf, type HttpRequest } from "../../src/service/http.ts";
import {
  answerOf,
  application,
  handsOver,
  openLocalHere,
  serviceName,
  startOf,
  target,
} from "../support/in-process.ts";
import { acknowledgeOpen, type AckChoice } from "../../src/exchange/end.ts";
import type { Delivery, Handover } from "../../src/exchange/recovery.ts";
import { runExchange } from "../../src/exchange/run.ts";
import type { Start } from "../../src/exchange/start/start.ts";
import { asVaultError, type VaultError } from "../../src/errors.ts";
import { creditCard, otherCard } from "../support/examples.ts";

/** Fault of the network at the next call. */
export type Weather =
  | "fine"
  | "no-connection"
  | "request-lost"
  | "response-lost"
  | "garbled"
  | "server-error"
  | "broken-after"
  | "unusable"
  | "of-another"
  | "uses-unsaid"
  | "clock-set-back";

/** Thrown where a process dies: whatever it was doing stops there. */
class Crash extends Error {}

/** A vault at an emulated service, a real state on disk, a clock that only waiting advances, and a network with faults. */
export class World {
  time = Date.parse("2026-11-20T12:00:00Z");
  weather: Weather[] = [];
  readonly sandbox;
  readonly uuid: string;
  readonly first: Credentials;
  readonly #handle;
  readonly directory = tempDir("model");
  #store: Store;
  #slept = 0;
  readonly #interrupt = new AbortController();

  constructor(options: { maxUsage?: number; idempotentEnd?: boolean }) {
    const opened = openSandbox({
      now: () => this.time,
      application,
      seed: [
        {
          kind: "credit-card/offline",
          label: "model",
          creditCard,
          ...(options.maxUsage === undefined ? {} : { maxUsage: options.maxUsage }),
        },
      ],
      policy: {
        tokenTtlMs: 60_000,
        rate: 1000,
        idempotentEnd: options.idempotentEnd === true,
      },
    });
    this.sandbox = opened.sandbox;
    this.#handle = opened.sandbox.handle;
    const [vault] = this.sandbox.vaults();
    if (vault === undefined) throw new Error("a world needs a vault");
    this.uuid = vault.uuid;
    this.first = vault.credentials;
    this.#store = this.#openStore();
  }

  readonly clock: Clock = {
    now: () => this.time,
    elapsed: () => this.#slept,
    sleep: async (milliseconds, signal) => {
      signal?.throwIfAborted();
      this.time += milliseconds;
      this.#slept += milliseconds;
      await new Promise((resolve) => setImmediate(resolve));
    },
  };

  #openStore(): Store {
    const keySource = { folder: join(this.directory, "config", "keys") };
    const directory = join(this.directory, "state");
    return openLocalHere({ directory, keySource, clock: this.clock });
  }

  async record(): Promise<VaultRecord | undefined> {
    return (await this.#store.find(this.uuid))[0];
  }

  /** Runs `use` with the vault locked, as one process would. */
  async hold<T>(use: (context: ExchangeContext) => Promise<T>): Promise<T> {
    const session = await this.#store.lock(serviceName, this.uuid, {
      deadline: this.#slept + 5000,
      signal: this.#interrupt.signal,
    });
    return await withVault(
      {
        session,
        service: this.#service,
        breaker: this.#store.breaker(serviceName),
        clock: this.clock,
        policy: { failedAttempts: 3, unackedStarts: 5 },
        signal: this.#interrupt.signal,
        killed: new AbortController().signal,
        deadline: this.#slept + 10_000,
        emit: () => undefined,
        settled: new Map(),
        redact: (text) => text,
        learnSecret: () => undefined,
      },
      use,
    );
  }

  /** Somebody with other software reads the vault with these credentials, and acknowledges. Returns the new ones. */
  colleague(credentials: Credentials): Credentials {
    return this.readElsewhere(credentials).credentials;
  }

  /** As `colleague`, with the token. */
  readElsewhere(credentials: Credentials): { credentials: Credentials; token: string } {
    this.weather = [];
    const call = { uuid: this.uuid, kind: "credit-card/offline", operation: "get" } as const;
    const reply = this.#exchangeBytes(
      requestOf(target, { step: "start", ...call, externalRef: "colleague", credentials }),
    );
    if (reply.type !== "answer") throw new Error("no answer");
    const { vault, transactionToken } = reply.answer.body as {
      vault: { credentials: Credentials };
      transactionToken: { token: string };
    };
    this.acknowledgeElsewhere(transactionToken.token);
    return { credentials: vault.credentials, token: transactionToken.token };
  }

  /** Somebody else sends the end call. */
  acknowledgeElsewhere(token: string): void {
    this.#exchangeBytes(
      requestOf(target, {
        step: "end",
        uuid: this.uuid,
        kind: "credit-card/offline",
        operation: "get",
        token,
      }),
    );
  }

  readonly #service: Service = {
    admit: async () => Promise.resolve(),
    call: async (call) => Promise.resolve(this.#exchangeBytes(requestOf(target, call))),
  };

  #exchangeBytes(request: HttpRequest): Reply {
    const weather = this.weather.shift() ?? "fine";
    if (weather === "no-connection") return { type: "not-sent", cause: "connection refused" };
    if (weather === "clock-set-back") {
      this.time -= 3 * 3_600_000;
      return { type: "not-sent", cause: "connection refused" };
    }
    if (weather === "request-lost") return { type: "no-answer", cause: "reset" };
    if (weather === "server-error")
      return { type: "no-answer", cause: "HTTP 503", httpStatus: 503 };
    const answer = answerOf(this.#handle, request);
    if (weather === "response-lost") return { type: "no-answer", cause: "reset" };
    if (weather === "garbled") return { type: "no-answer", cause: "not JSON" };
    if (weather === "broken-after") {
      return {
        type: "no-answer",
        cause: "HTTP 503",
        httpStatus: 503,
        answer: { ...answer, httpStatus: 503 },
      };
    }
    // A SUCCESS without what it must have.
    if (weather === "unusable") delete answer.body["transactionToken"];
    if (weather === "of-another" && answer.body["vault"])
      Object.assign(answer.body["vault"], { uuid: "00000000-0000-4000-8000-000000000009" });
    if (weather === "uses-unsaid")
      delete (answer.body["vault"] as Record<string, unknown>)["usesRemaining"];
    return { type: "answer", answer };
  }
}

/** What a test asks for and cares about; `dies` kills the process between ② and ③. */
type Changes = Partial<Omit<Start, "given">> & {
  given?: Credentials;
  handover?: Handover;
  dies?: boolean;
  fails?: boolean;
};

/** A vault whose first pair is imported. */
export async function knownVault(maxUsage?: number): Promise<World> {
  const world = new World(maxUsage === undefined ? {} : { maxUsage });
  await world.hold(
    async ({ session }) =>
      await session.recordPair({ credentials: world.first, kind: "credit-card/offline" }),
  );
  return world;
}

/** Outcome of a run: the code of its error, or `ok`, with everything that was delivered. */
interface Ran {
  code: string;
  error?: VaultError;
  delivered: Delivery[];
  result?: Delivery;
}

export async function run(
  world: World,
  operation: "get" | "update",
  { dies, fails, given, handover, ...changes }: Changes = {},
): Promise<Ran> {
  const delivered: Delivery[] = [];
  const start: Start = {
    ...startOf(world, operation),
    ...(operation === "update" ? { newVault: { creditCard: otherCard } } : {}),
    ...(given === undefined ? {} : { given: { type: "pair", credentials: given } }),
    ...changes,
  };
  const receiver = handsOver(async (delivery) => {
    if (dies === true) throw new Crash("killed before the delivery");
    if (fails === true) throw new Error("the reader has gone");
    delivered.push(delivery);
    return Promise.resolve();
  });
  try {
    return {
      code: "ok",
      delivered,
      result: await world.hold(
        async (context) => await runExchange(die(context, dies), start, handover ?? receiver),
      ),
    };
  } catch (error) {
    if (error instanceof Crash) return { code: "crash", delivered };
    const failure = asVaultError(error);
    return { code: failure.code, error: failure, delivered };
  } finally {
    world.weather = [];
  }
}

/** A dead process records nothing: the error of the delivery must not put its exchange on hold. */
function die<T extends { session: object }>(context: T, dies: boolean | undefined): T {
  if (dies !== true) return context;
  const session = new Proxy(context.session, {
    get: (object, name) => {
      const value = Reflect.get(object, name, object) as unknown;
      if (name === "hold") return () => Promise.reject(new Crash("killed before the delivery"));
      return typeof value === "function" ? (value.bind(object) as unknown) : value;
    },
  });
  return { ...context, session };
}

export async function ack(world: World, choice: Partial<AckChoice> = {}): Promise<string> {
  try {
    const exchange = await world.hold(
      async (context) => await acknowledgeOpen(context, { unread: false, saved: false, ...choice }),
    );
    return exchange?.state ?? "nothing";
  } catch (error) {
    return asVaultError(error).code;
  } finally {
    world.weather = [];
  }
}

export async function known(world: World): Promise<VaultRecord> {
  const record = await world.record();
  if (record === undefined) throw new Error("the vault is not known");
  return record;
}

/** Whether the pair that the state holds as current is the one that the service accepts. */
export async function currentIsAccepted(world: World): Promise<boolean> {
  const current = (await known(world)).generations.find((g) => g.standing === "current");
  if (current === undefined) return false;
  return await world.hold(async ({ session }) =>
    world.sandbox.accepts(world.uuid, await session.credentials(current.generation)),
  );
}

export const starts = (world: World): number =>
  world.sandbox.requests().filter((r) => r.step === "start").length;
export const ends = (world: World): number =>
  world.sandbox.requests().filter((r) => r.step === "end" && r.uuid === world.uuid).length;
