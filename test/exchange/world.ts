import { tempDir } from "../support/temp-dir.ts";
import { join } from "node:path";
import type { ExchangeContext } from "../../src/exchange/context.ts";
import type { Clock, Reply, Service, Store } from "../../src/exchange/ports.ts";
import type { Credentials, VaultRecord } from "../../src/exchange/records.ts";
import { createIds } from "../../src/exchange/ulid.ts";
import { findEndpoint } from "../../src/protocol/endpoints.ts";
import { openSandbox } from "../../src/sandbox/server/start-sandbox.ts";
import type { SandboxResponse } from "../../src/sandbox/model/messages.ts";
import type { HttpRequest, Target } from "../../src/service/request.ts";
import { endRequest, singleRequest, startRequest } from "../../src/service/request.ts";
import { openStore } from "../../src/store/sqlite/store.ts";

/** What the network does with the next call. */
export type Weather = "fine" | "no-connection" | "request-lost" | "response-lost" | "garbled" | "server-error" | "clock-set-back";

/** A process that died: whatever it was doing stops there. */
export class Crash extends Error {}

export const service = "https://vaults.test/vaultsvc/v1-2";
const target: Target = {
  baseUrl: "https://vaults.test",
  apiPrefix: "/vaultsvc/v1-2",
  application: { apiKey: "0a0a0a0a-1111-4222-8333-444444444444", uuid: "0b0b0b0b-1111-4222-8333-444444444444" },
  version: "test",
};

/**
 * One vault at an emulated service, a real state on disk, a clock that only waiting moves, and a network with weather.
 * `crashAt` counts down over every step of the program; at zero the process dies.
 */
export class World {
  time = Date.parse("2026-11-20T12:00:00Z");
  weather: Weather[] = [];
  crashAt = Number.POSITIVE_INFINITY;
  /** Ids of exchanges whose contents were delivered whole. */
  readonly delivered = new Set<string>();
  /** Set by a check inside the service; read by the test. */
  violation: string | undefined;
  readonly sandbox;
  readonly uuid: string;
  readonly first: Credentials;
  readonly #handle;
  readonly #directory = tempDir("model");
  #store: Store;
  #slept = 0;
  #holders = 0;
  readonly #interrupt = new AbortController();

  constructor(options: { maxUsage?: number; seed: string }) {
    const opened = openSandbox({
      now: () => this.time,
      randomSeed: options.seed,
      application: target.application,
      seed: [],
      policy: { tokenTtlMs: 60_000, rate: 1000 },
    });
    this.sandbox = opened.sandbox;
    this.#handle = opened.handle;
    const creditCard = { number: "4111111111111111", name: "Ada Lovelace", expiryMonth: 4, expiryYear: 2031 };
    const vault = this.sandbox.addVault({
      kind: "credit-card/offline",
      label: "model",
      creditCard,
      ...(options.maxUsage === undefined ? {} : { maxUsage: options.maxUsage }),
    });
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
    const keySource = { type: "file", path: join(this.#directory, "config", "state.key") } as const;
    return openStore({ directory: join(this.#directory, "state"), keySource, clock: this.clock, platform: "linux", warn: () => undefined });
  }

  /** Another process: its own connection to the same state. */
  newProcess(): void {
    this.#store = this.#openStore();
  }

  async record(): Promise<VaultRecord | undefined> {
    return (await this.#store.find(this.uuid))[0];
  }

  /** Runs `use` with the vault held, as one process would; a crash lets go of it as the operating system does. */
  async hold<T>(use: (context: ExchangeContext) => Promise<T>): Promise<T> {
    const session = await this.#store.lock(service, this.uuid, { deadline: this.#slept + 5000, signal: this.#interrupt.signal });
    this.#holders += 1;
    if (this.#holders > 1) this.violation = "two processes hold the vault";
    try {
      return await use({
        session: this.#mortal(session),
        service: this.#service(session),
        probe: async () => {
          this.step();
          const reached = (this.weather.shift() ?? "fine") === "fine";
          return Promise.resolve(reached ? { reached, httpStatus: 404 } : { reached, cause: "no answer", hint: null });
        },
        clock: this.clock,
        ids: createIds(this.clock),
        policy: { failed: 3, unacked: 5 },
        signal: this.#interrupt.signal,
        killed: new AbortController().signal,
        deadline: this.#slept + 10_000,
        tell: () => undefined,
        redact: (text) => text,
        learnSecret: () => undefined,
      });
    } finally {
      this.#holders -= 1;
      await session.release();
    }
  }

  /** Somebody with other software reads the vault with these credentials, and acknowledges. Returns the new ones. */
  colleague(credentials: Credentials): Credentials {
    this.weather = [];
    const call = { uuid: this.uuid, kind: "credit-card/offline", operation: "get" } as const;
    const reply = this.#exchangeBytes(startRequest(target, { ...call, externalRef: "colleague", credentials }));
    if (reply.type !== "answer") throw new Error("no answer");
    const { vault, transactionToken } = reply.answer.body as { vault: { credentials: Credentials }; transactionToken: { token: string } };
    this.acknowledgeElsewhere(transactionToken.token);
    return vault.credentials;
  }

  /** Somebody else sends the end call. */
  acknowledgeElsewhere(token: string): void {
    this.#exchangeBytes(endRequest(target, { uuid: this.uuid, kind: "credit-card/offline", operation: "get", token }));
  }

  step(): void {
    this.crashAt -= 1;
    if (this.crashAt <= 0) throw new Crash("killed");
  }

  /** Every call of the state may be the last one: before it, or after it took effect. */
  #mortal<T extends object>(inner: T): T {
    const calls = new Map<PropertyKey, unknown>();
    return new Proxy(inner, {
      get: (object, name) => {
        const value = Reflect.get(object, name, object) as unknown;
        if (typeof value !== "function" || name === "release") return value;
        if (!calls.has(name)) {
          calls.set(name, async (...parameters: unknown[]) => {
            this.step();
            const result: unknown = await (value as (...p: unknown[]) => Promise<unknown>).apply(object, parameters);
            this.step();
            return result;
          });
        }
        return calls.get(name);
      },
    });
  }

  #service(session: { read(): Promise<VaultRecord | null>; isSuperseded(pair: Credentials): Promise<boolean> }): Service {
    const endpointOf = (call: { kind: string; operation: "get" | "update" }, step: "start" | "end") =>
      findEndpoint(call.kind as "credit-card/offline", call.operation, step);
    return {
      admit: async () => this.step(),
      start: async (call) => {
        this.step();
        if (await session.isSuperseded(call.credentials)) this.violation = "a superseded pair was sent";
        const open = (await session.read())?.last;
        if (open?.state !== "intent") this.violation = `a start was sent with the journal at ${open?.state}`;
        if (endpointOf(call, "start") === undefined) this.violation = "no such endpoint";
        return this.#exchangeBytes(startRequest(target, call));
      },
      end: async (call) => {
        this.step();
        const record = await session.read();
        const { open } = record ?? {};
        if (open?.state !== "ending" || open.newGeneration === null)
          this.violation = `an end call was sent with the journal at ${open?.state}`;
        else if (open.limited && open.operation === "get" && !this.delivered.has(open.id))
          this.violation = "a limited read was acknowledged before it was delivered";
        return this.#exchangeBytes(endRequest(target, call));
      },
      single: async (call) => {
        this.step();
        if (call.operation === "delete") {
          if (await session.isSuperseded(call.credentials)) this.violation = "a superseded pair was sent";
          const last = (await session.read())?.last;
          if (last?.state !== "intent") this.violation = `a delete was sent with the journal at ${last?.state}`;
        }
        return this.#exchangeBytes(singleRequest(target, call));
      },
    };
  }

  #exchangeBytes(request: HttpRequest): Reply {
    const weather = this.weather.shift() ?? "fine";
    if (weather === "no-connection") return { type: "not-sent", cause: "connection refused" };
    if (weather === "clock-set-back") {
      this.time -= 3 * 3_600_000;
      return { type: "not-sent", cause: "connection refused" };
    }
    if (weather === "request-lost") return { type: "no-answer", cause: "reset" };
    if (weather === "server-error") return { type: "no-answer", cause: "HTTP 503", httpStatus: 503 };
    const { method, path, headers, body } = request;
    const response: SandboxResponse = this.#handle({ method, path, headers, body: JSON.stringify(body) ?? "", remoteAddress: "127.0.0.1" });
    this.step();
    if (weather === "response-lost") return { type: "no-answer", cause: "reset" };
    if (weather === "garbled") return { type: "no-answer", cause: "not JSON" };
    const parsed = JSON.parse(response.body) as Record<string, unknown>;
    return { type: "answer", answer: { httpStatus: response.status, body: parsed } };
  }
}
