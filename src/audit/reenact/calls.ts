import type { Kind, Operation, Step } from "../../protocol/endpoints.ts";
import { findEndpoint, isCreditCard, isOnline, kinds, singleEndpoint } from "../../protocol/endpoints.ts";
import type { Application } from "../../protocol/requests.ts";
import type { Call } from "../../sandbox/model/call.ts";
import { Sandbox } from "../../sandbox/model/model.ts";
import type { Policy } from "../../sandbox/model/policy.ts";
import { demoDevice } from "../../sandbox/seeds/seeds.ts";
import type { Pair, State, VaultState } from "../../sandbox/model/state.ts";

/** How a call went: refused because the vault was locked before it, or because this very call has locked it. */
export type Went = "accepted" | "credentials" | "token" | "locked-already" | "locked-now" | "deleted" | "impossible";

/** The public number for tests. */
const card = { number: "4111111111111111", name: "Re-enactment", expiryMonth: 12, expiryYear: 2099 };
const wrongPair: Pair = { encryptedData: "d3Jvbmc=", payload: "d3Jvbmc=" };

function emptyState(): State {
  const id = "00000000-0000-4000-8000-000000000000";
  return { application: { uuid: id, apiKey: id }, vaults: {}, initial: [], audit: [], drawn: 0 };
}

/**
 * A private service in memory, and a client of it that always has the right credentials: no socket, no file, and no log
 * that grows with the calls.
 */
export class Rehearsal {
  /** The sandbox's clock, in milliseconds since the epoch. */
  now = 0;
  readonly #state: State;
  readonly #sandbox: Sandbox;
  readonly #application: Application;
  /** By uuid: the exchange started last. */
  readonly #tokens = new Map<string, { operation: Operation; token: string }>();
  /** Whether the last call left an audit item: a call that is refused because the vault is locked leaves none. */
  #recorded = false;

  /** The state may be given only to be looked at. */
  constructor(policy: Partial<Policy>, state = emptyState()) {
    this.#state = state;
    this.#application = state.application;
    const save = (state: State): void => {
      this.#recorded = state.audit.length > 0;
      state.audit.length = 0;
    };
    this.#sandbox = new Sandbox({ now: () => this.now, policy: { ...policy, rate: 0 }, state: this.#state, save });
  }

  /** What the service holds, brought up to the present; undefined for a vault that it does not have. */
  look(uuid: string): Readonly<VaultState> | undefined {
    if (!Object.hasOwn(this.#state.vaults, uuid)) return undefined;
    this.#sandbox.accepts(uuid, wrongPair);
    return this.#state.vaults[uuid];
  }

  /** @throws `invalid-input` for what is no uuid. */
  create(uuid: string, kind: Kind): void {
    const contents = isCreditCard(kind) ? { creditCard: card } : { content: "re-enactment" };
    this.#sandbox.addVault({ uuid, kind, ...contents, ...(isOnline(kind) ? { device: demoDevice } : {}) });
  }

  /** With the right credentials, or with wrong ones. */
  start(uuid: string, operation: Operation, isRight = true): Went {
    const kind = this.#state.vaults[uuid]?.kind;
    const endpoint = kind && findEndpoint(kind, operation, "start");
    if (endpoint === undefined) return "impossible";
    const newVault = isCreditCard(endpoint.kind) ? { creditCard: card } : { content: "re-enactment" };
    const { went, body } = this.#call(uuid, endpoint, {
      ...this.#startBody(uuid, endpoint.kind, isRight),
      ...(operation === "update" ? { newVault } : {}),
    });
    if (went === "accepted") this.#tokens.set(uuid, { operation, token: (body["transactionToken"] as { token: string }).token });
    return went;
  }

  /** With the token of the exchange started last, of whichever operation, or with one that is wrong. */
  end(uuid: string, operation: Operation, isRight = true): Went {
    const kind = this.#state.vaults[uuid]?.kind;
    const endpoint = kind && findEndpoint(kind, operation, "end");
    if (endpoint === undefined) return "impossible";
    const token = isRight ? this.#tokens.get(uuid)?.token : undefined;
    return this.#call(uuid, endpoint, { token: token ?? "none" }).went;
  }

  delete(uuid: string, isRight = true): Went {
    const kind = this.#state.vaults[uuid]?.kind;
    if (kind === undefined) return "impossible";
    return this.#call(uuid, singleEndpoint(kind, "delete"), this.#startBody(uuid, kind, isRight)).went;
  }

  /** The console's. Both throw `invalid-input` for a deleted vault. */
  lock(uuid: string): void {
    this.#sandbox.lock(uuid);
  }

  unlock(uuid: string): void {
    this.#sandbox.unlock(uuid);
  }

  #startBody(uuid: string, kind: Kind, isRight: boolean): Record<string, unknown> {
    return {
      application: this.#application,
      ...(isOnline(kind) ? { device: demoDevice } : {}),
      vault: { credentials: isRight ? this.#state.vaults[uuid]?.pair : wrongPair },
    };
  }

  #call(uuid: string, endpoint: Call["endpoint"], body: unknown): { went: Went; body: Record<string, unknown> } {
    const { uuid: application, apiKey } = this.#application;
    const headers = { "x-application-uuid": application, "x-api-key": apiKey };
    const call = { endpoint, uuid, headers, body, remoteAddress: "127.0.0.1", target: "" };
    const outcome = this.#sandbox.call(call);
    return { went: this.#went(outcome.status), body: outcome.body };
  }

  #went(status: number): Went {
    if (status === 423) return this.#recorded ? "locked-now" : "locked-already";
    return ({ 200: "accepted", 403: "credentials", 400: "token", 410: "deleted" } as const)[status] ?? "impossible";
  }
}

/** The kind that an endpoint's path names, or a kind as such; undefined where there is none in it. */
export const kindIn = (hint: string | undefined): Kind | undefined => kinds.find((kind) => hint?.includes(kind));

/** The call that an endpoint's path names. */
export const stepIn = (hint: string | undefined): `${Operation}-${Step}` | undefined =>
  (["get-start", "get-end", "update-start", "update-end"] as const).find((step) => hint?.includes(step));
