import { combinationOf } from "../../../../src/exchange/start/start.ts";
import type { Pair } from "../../../../src/protocol/answers.ts";
import { fingerprint } from "../../../../src/protocol/fingerprint.ts";
import type { Call, Reply } from "../../../../src/exchange/ports.ts";
import { Sandbox } from "../../../../src/sandbox/sandbox.ts";
import type { State as SandboxState, VaultState } from "../../../../src/sandbox/model.ts";
import { requestOf, type HttpRequest } from "../../../../src/service/http.ts";
import type { Operation, Service } from "../state.ts";
import { answerOf, application, target } from "../../../support/in-process.ts";
import { creditCard } from "../../../support/examples.ts";

export const uuid = "aaaaaaaa-bbbb-4ccc-8ddd-000000000001";
export const kind = "credit-card/offline";

/** Which real pair, and which real token, a number of the model stands for. */
export class RealPairs {
  readonly #pairs = new Map<number, Pair>();
  readonly #numbers = new Map<string, number>();
  readonly #tokens = new Map<string, number>();
  /** Above all numbers that the model has in use. */
  #fresh = 1_000_000;

  /** The pair of a number, made up if it has none yet. */
  pair(number: number): Pair {
    const known = this.#pairs.get(number);
    if (known !== undefined) return known;
    const pair = { encryptedData: `data ${number}`, payload: `payload ${number}` };
    this.#know(number, pair);
    this.#tokens.set(this.token(number), number);
    return pair;
  }

  token(number: number): string {
    return `token ${number}`;
  }

  /** The number of a pair that the service has handed out with this token. */
  offered(pair: Pair, token: string): number {
    const known = this.#numbers.get(fingerprint(uuid, pair));
    const number = known ?? (this.#fresh += 1);
    if (known === undefined) this.#know(number, pair);
    this.#tokens.set(token, number);
    return number;
  }

  /**
   * By the pair, its fingerprint or the combination that it is refused in.
   * @throws for one that was never seen
   */
  number(what: Pair | string): number {
    const found = this.#numbers.get(typeof what === "string" ? what : fingerprint(uuid, what));
    if (found === undefined) throw new Error("a pair that nobody has handed out");
    return found;
  }

  numberOfToken(token: string): number {
    return this.#tokens.get(token) ?? -1;
  }

  combination(number: number): string {
    return combinationOf(uuid, kind, this.pair(number));
  }

  #know(number: number, pair: Pair): void {
    this.#pairs.set(number, pair);
    this.#numbers.set(fingerprint(uuid, pair), number);
    this.#numbers.set(combinationOf(uuid, kind, pair), number);
  }
}

const lifetime = 86_400_000;
const midnight = Date.parse("2026-11-20T00:00:00Z");

/** The emulated service, put into any state of the model, and a network that does with a call what it is told. */
export class RealService {
  readonly #pairs: RealPairs;
  readonly #state: SandboxState;
  readonly #handlers: Record<"harsh" | "idempotent", Sandbox["handle"]>;
  readonly #sandbox: Sandbox;
  #now = midnight;

  constructor(pairs: RealPairs) {
    this.#pairs = pairs;
    let state: SandboxState | undefined;
    // Two services on one state: what is answered to a repeated end call is a policy.
    const make = (idempotentEnd: boolean): Sandbox =>
      new Sandbox({
        now: () => this.#now,
        application,
        state,
        seed: [{ uuid, kind, label: "model", creditCard }],
        save: (saved) => void (state = saved),
        policy: { tokenTtlMs: lifetime, rate: 0, idempotentEnd },
      });
    this.#sandbox = make(false);
    this.#handlers = { harsh: this.#sandbox.handle, idempotent: make(true).handle };
    this.#state = state as unknown as SandboxState;
  }

  load(service: Service, left: Operation): void {
    const { open } = service;
    this.#now = midnight;
    this.#state.audit = [];
    Object.assign(this.#vault(), {
      state: service.deleted ? "deleted" : service.locked ? "locked" : "active",
      lockReason: service.locked ? "failed" : null,
      pair: this.#pairs.pair(service.pair),
      usesRemaining: service.uses,
      failedAccesses: service.failed,
      unackedStarts: service.unacked,
      autoLockDate: midnight + 365 * lifetime,
      acknowledged: { operation: left, token: this.#pairs.token(service.pair) },
      pending: open && {
        operation: open.operation,
        token: this.#pairs.token(open.offered),
        offered: this.#pairs.pair(open.offered),
        expiresAt: midnight + lifetime,
        externalRef: null,
      },
    } satisfies Partial<VaultState>);
  }

  read(): Service {
    const { state, failedAccesses, unackedStarts, usesRemaining, pending, pair } =
      this.#sandbox.inspect(uuid);
    return {
      pair: this.#pairs.number(pair),
      open: pending && {
        offered: this.#pairs.offered(pending.offered, pending.token),
        operation: pending.operation,
      },
      failed: failedAccesses,
      unacked: unackedStarts,
      locked: state === "locked",
      deleted: state === "deleted",
      uses: usesRemaining,
    };
  }

  tokenDies(): void {
    this.#now += lifetime;
  }

  wrongPair(): void {
    this.#startElsewhere({ encryptedData: "wrong", payload: "wrong" });
  }

  #startElsewhere(credentials: Pair): void {
    this.#arrive(
      requestOf(target, {
        step: "start",
        uuid,
        kind,
        operation: "get",
        externalRef: "somebody",
        credentials,
      }),
      "harsh",
    );
  }

  /** Somebody else starts with the valid pair, and may acknowledge: what the recovery document holds. */
  otherStart(isOver: boolean): { old: Pair; new: Pair; token: string } {
    const old = this.#sandbox.inspect(uuid).pair;
    this.#startElsewhere(old);
    const { pending } = this.#sandbox.inspect(uuid);
    if (pending === null) throw new Error("the start of somebody else was refused");
    const { offered, token } = pending;
    if (isOver)
      this.#arrive(
        requestOf(target, { step: "end", uuid, kind, operation: "get", token }),
        "harsh",
      );
    return { old, new: offered, token };
  }

  unlock(): void {
    this.#sandbox.unlock(uuid);
  }

  lock(): void {
    this.#sandbox.lock(uuid);
  }

  call(call: Call, outcome: string): Reply {
    const request = requestOf(target, call);
    switch (outcome) {
      case "not sent":
        return { type: "not-sent", cause: "connection refused" };
      case "lost before the service":
        return { type: "no-answer", cause: "reset" };
      case "its answer is lost":
        this.#arrive(request, "harsh");
        return { type: "no-answer", cause: "reset" };
      case "429":
        return refusal(429, "RATE", "rate limit exceeded");
      case "an error about the application":
        return refusal(401, "APPLICATION", "the api key is wrong");
      case "an unknown error":
        return refusal(418, "ODD", "something else");
      case "an error that is taken for a refusal":
        return refusal(400, "CREDENTIALS", "the credentials are wrong");
      case "a success without credentials": {
        const { httpStatus, body } = this.#arrive(request, "harsh");
        const { vault: _vault, ...rest } = body;
        return { type: "answer", answer: { httpStatus, body: rest } };
      }
      case "answered":
        return { type: "answer", answer: this.#arrive(request, "harsh") };
      case "answered, a repetition as before":
        return { type: "answer", answer: this.#arrive(request, "idempotent") };
      default:
        throw new Error(`the network knows nothing of: ${outcome}`);
    }
  }

  #arrive(request: HttpRequest, which: "harsh" | "idempotent"): ReturnType<typeof answerOf> {
    const answer = answerOf(this.#handlers[which], request);
    const { pending } = this.#sandbox.inspect(uuid);
    if (pending !== null) this.#pairs.offered(pending.offered, pending.token);
    return answer;
  }

  #vault(): VaultState {
    return this.#state.vaults[uuid] as VaultState;
  }
}

const refusal = (httpStatus: number, code: string, message: string): Reply => ({
  type: "answer",
  answer: {
    httpStatus,
    body: { responseStatus: { status: "ERROR", code, detailedErrors: [{ message }] } },
  },
});
