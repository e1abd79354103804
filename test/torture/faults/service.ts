import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { httpServer } from "../../support/servers.ts";
import type { Outcome } from "../../../src/sandbox/outcome.ts";
import { Sandbox } from "../../../src/sandbox/sandbox.ts";
import type { State } from "../../../src/sandbox/model.ts";
import type { VaultInput } from "../../../src/sandbox/seeds.ts";
import type { KnownVault } from "../../../src/sandbox/model.ts";
import type { Certificate } from "../../support/keys.ts";

export type Step = "start" | "end";
/** An answer with its body as text. */
type Answer = Outcome & { body: string };
export type Which = "first" | "second" | "every";

/** One call that is struck by a fault: what a fault can do with it. */
export interface StruckCall {
  step: Step;
  request: IncomingMessage;
  response: ServerResponse;
  /** Lets the service process it; with its clock so many milliseconds off, for this call alone. */
  process(ahead?: number): Answer;
  /** Sends an answer as it is. */
  send(answer: Pick<Answer, "status" | "headers"> & { body: string | Buffer }): void;
  /** Resets the connection. */
  reset(): void;
  /** Nothing more will come: the client need not wait until it finds out. */
  silence(): void;
}

export interface Fault {
  name: string;
  /** What the call meets; `no connection` in its place: there is none that it could be sent on. */
  strike: ((call: StruckCall) => void) | "no connection";
}

/** Which calls a fault strikes. With `second`, the answer to the first one gets lost, so that the command sends it again. */
export interface Plan {
  fault: Fault;
  step: Step;
  which: Which;
}

/** A sandbox with one vault, behind a server that strikes its calls as planned. Closed after the test file. */
export class FaultyService {
  sandbox: Sandbox;
  readonly application;
  readonly vault: KnownVault;
  baseUrl = "";
  plan: Plan | undefined;
  /** Called when a call will never be answered. */
  onSilence: () => void = () => undefined;
  /** Ends every connection; it is called after the test file too. */
  close: () => void = () => undefined;
  /** Calls that were sent or, for want of a connection, could not be. */
  readonly seen = { start: 0, end: 0 };
  #state: State | undefined;
  /** What a client sends next: an end call once a start has been answered. */
  #expected: Step = "start";
  #ahead = 0;

  private constructor(seed: VaultInput) {
    this.sandbox = this.#newSandbox({ seed: [seed] });
    this.application = this.sandbox.application;
    this.vault = this.sandbox.vaults()[0] as KnownVault;
  }

  /** With a certificate it speaks TLS, and a connection can fail before anything is sent on it. */
  static async open(seed: VaultInput, certificate?: Certificate): Promise<FaultyService> {
    const service = new FaultyService(seed);
    const { url, server, connections } = await httpServer(
      ({ body }, response, request) => service.#receive(request, body, response),
      certificate,
    );
    server.on("connection", (socket: Socket) => service.#connect(socket));
    service.close = () => {
      for (const socket of connections) socket.destroy();
      server.close();
    };
    service.baseUrl = url;
    return service;
  }

  /** Strikes no more, and forgets what it has counted. */
  heal(): void {
    this.plan = undefined;
    Object.assign(this.seen, { start: 0, end: 0 });
    this.#expected = "start";
  }

  /** Runs the work against a copy of the service as it is now, which goes back to that afterwards. */
  async apart<T>(work: () => Promise<T>): Promise<T> {
    const { sandbox } = this;
    const state = structuredClone(this.#state) as State;
    const kept = this.#state;
    this.sandbox = this.#newSandbox({ state });
    try {
      return await work();
    } finally {
      this.sandbox = sandbox;
      this.#state = kept;
    }
  }

  #newSandbox(from: { seed?: VaultInput[]; state?: State }): Sandbox {
    const save = (state: State): void => void (this.#state = state);
    return new Sandbox({ now: () => Date.now() + this.#ahead, policy: { rate: 0 }, save, ...from });
  }

  #connect(socket: Socket): void {
    const due =
      this.plan?.fault.strike === "no connection" &&
      this.#due(this.#expected, this.seen[this.#expected] + 1);
    if (due === this.plan?.fault && due !== undefined) {
      this.seen[this.#expected] += 1;
      socket.resetAndDestroy();
    }
  }

  #due(step: Step, count: number): Fault | undefined {
    if (this.plan?.step !== step) return undefined;
    const { fault, which } = this.plan;
    if (which === "second" && count === 1) return lostAnswer;
    const hit = which === "every" || count === (which === "first" ? 1 : 2);
    return hit ? fault : undefined;
  }

  #receive(request: IncomingMessage, body: string, response: ServerResponse): void {
    const step: Step = request.url?.endsWith("-end") === true ? "end" : "start";
    const isProbe = request.url?.includes("00000000-0000-0000-0000-000000000000") === true;
    if (!isProbe) this.seen[step] += 1;
    // A connection serves one call, so that the next one has to be connected for.
    const headers: Record<string, string> =
      this.plan?.fault.strike === "no connection" ? { connection: "close" } : {};
    const call: StruckCall = {
      step,
      request,
      response,
      process: (ahead = 0) => this.#process(request, body, ahead),
      send: (answer) =>
        response.writeHead(answer.status, { ...answer.headers, ...headers }).end(answer.body),
      reset: () => resetConnection(request.socket),
      silence: () => this.onSilence(),
    };
    const due = this.#due(step, this.seen[step]);
    // A probe is answered: what strikes a call does not strike it.
    const strike = isProbe ? undefined : due?.strike;
    if (strike !== undefined && strike !== "no connection") return strike(call);
    const answer = call.process();
    if (!isProbe) this.#expected = step === "start" && answer.status === 200 ? "end" : "start";
    call.send(answer);
  }

  #process(request: IncomingMessage, body: string, ahead: number): Answer {
    const headers = request.headers as Record<string, string | undefined>;
    this.#ahead = ahead;
    try {
      const answer = this.sandbox.handle({
        method: request.method ?? "",
        path: request.url ?? "",
        headers,
        body,
        remoteAddress: "127.0.0.1",
      });
      const type = { "content-type": "application/json; charset=utf-8" };
      return {
        ...answer,
        headers: { ...type, ...answer.headers },
        body: JSON.stringify(answer.body),
      };
    } finally {
      this.#ahead = 0;
    }
  }
}

/** Processed, and the answer never arrives: what brings about a second call. */
const lostAnswer: Fault = {
  name: "reset after processing",
  strike: (call) => {
    call.process();
    call.reset();
  },
};

/** Of TLS, the connection below is not at hand: closed without a word is as good. */
function resetConnection(socket: Socket): void {
  if ("encrypted" in socket) socket.destroy();
  else socket.resetAndDestroy();
}
