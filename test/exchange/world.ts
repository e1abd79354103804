import { tempDir } from "../support/temp-dir.ts";
import { join } from "node:path";
import type { ExchangeContext } from "../../src/exchange/context.ts";
import type { Clock, Reply, Service, Store } from "../../src/exchange/ports.ts";
import type { Credentials, VaultRecord } from "../../src/exchange/records.ts";
import { createIds } from "../../src/exchange/ulid.ts";
import { openSandbox } from "../../src/sandbox/server/start-sandbox.ts";
import type { SandboxResponse } from "../../src/sandbox/model/messages.ts";
import { sendProbe } from "../../src/exchange/start/breaker-gate.ts";
import type { HttpRequest } from "../../src/service/request.ts";
import { requestOf } from "../../src/service/request.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import { application, creditCard, target } from "../support/emulated-target.ts";

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
  | "clock-set-back";

/** Thrown where a process dies: whatever it was doing stops there. */
export class Crash extends Error {}

export const service = "https://vaults.test/vaultsvc/v1-2";

/** A vault at an emulated service, a real state on disk, a clock that only waiting advances, and a network with faults. */
export class World {
  time = Date.parse("2026-11-20T12:00:00Z");
  weather: Weather[] = [];
  readonly sandbox;
  readonly uuid: string;
  readonly first: Credentials;
  readonly #handle;
  readonly #directory = tempDir("model");
  #store: Store;
  #slept = 0;
  readonly #interrupt = new AbortController();

  constructor(options: { maxUsage?: number; seed: string }) {
    const opened = openSandbox({
      now: () => this.time,
      randomSeed: options.seed,
      application,
      seed: [],
      policy: { tokenTtlMs: 60_000, rate: 1000 },
    });
    this.sandbox = opened.sandbox;
    this.#handle = opened.handle;
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
    return openStore({
      directory: join(this.#directory, "state"),
      keySource,
      clock: this.clock,
      platform: "linux",
      warn: () => undefined,
    });
  }

  async record(): Promise<VaultRecord | undefined> {
    return (await this.#store.find(this.uuid))[0];
  }

  /** Runs `use` with the vault locked, as one process would. */
  async hold<T>(use: (context: ExchangeContext) => Promise<T>): Promise<T> {
    const session = await this.#store.lock(service, this.uuid, {
      deadline: this.#slept + 5000,
      signal: this.#interrupt.signal,
    });
    try {
      return await use({
        session,
        service: this.#service,
        breaker: this.#store.breaker(service),
        probe: async () =>
          await sendProbe({
            service: this.#service,
            clock: this.clock,
            deadline: 0,
            signal: this.#interrupt.signal,
          }),
        clock: this.clock,
        ids: createIds(this.clock),
        policy: { failedAttempts: 3, unackedStarts: 5 },
        signal: this.#interrupt.signal,
        killed: new AbortController().signal,
        deadline: this.#slept + 10_000,
        emit: () => undefined,
        redact: (text) => text,
        learnSecret: () => undefined,
      });
    } finally {
      await session.release();
    }
  }

  /** Somebody with other software reads the vault with these credentials, and acknowledges. Returns the new ones. */
  colleague(credentials: Credentials): Credentials {
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
    return vault.credentials;
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
    reserveAhead: async () => Promise.resolve(),
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
    const { method, path, headers, body } = request;
    const response: SandboxResponse = this.#handle({
      method,
      path,
      headers,
      body: JSON.stringify(body) ?? "",
      remoteAddress: "127.0.0.1",
    });
    if (weather === "response-lost") return { type: "no-answer", cause: "reset" };
    if (weather === "garbled") return { type: "no-answer", cause: "not JSON" };
    const parsed = JSON.parse(response.body) as Record<string, unknown>;
    if (weather === "broken-after") {
      return {
        type: "no-answer",
        cause: "HTTP 503",
        httpStatus: 503,
        answer: { httpStatus: 503, body: parsed },
      };
    }
    // A SUCCESS without what it must have.
    if (weather === "unusable") delete parsed["transactionToken"];
    return { type: "answer", answer: { httpStatus: response.status, body: parsed } };
  }
}
