import type { Kind, Operation, Step } from "../../../src/protocol/endpoints.ts";
import {
  findEndpoint,
  isCreditCard,
  isOnline,
  kinds,
  singleEndpoint,
} from "../../../src/protocol/endpoints.ts";
import type { Application } from "../../../src/protocol/requests.ts";
import type { Call } from "../../../src/sandbox/model/call.ts";
import { Sandbox } from "../../../src/sandbox/model/model.ts";
import type { Policy } from "../../../src/sandbox/model/policy.ts";
import type { Pair } from "../../../src/protocol/answers.ts";
import type { State, VaultState } from "../../../src/sandbox/model/state.ts";
import { demoDevice } from "../../../src/sandbox/seeds/seeds.ts";

/** Result of a call. `locked-already`: refused because the vault was locked; `locked-now`: refused, and this call locked it. */
export type CallResult =
  "accepted" | "credentials" | "token" | "locked-already" | "locked-now" | "deleted" | "impossible";

/** Card with a public number for tests. */
const card = {
  number: "4111111111111111",
  name: "Re-enactment",
  expiryMonth: 12,
  expiryYear: 2099,
};
const wrongPair: Pair = { encryptedData: "d3Jvbmc=", payload: "d3Jvbmc=" };

function emptyState(): State {
  const id = "00000000-0000-4000-8000-000000000000";
  return { application: { uuid: id, apiKey: id }, vaults: {}, initial: [], audit: [], drawn: 0 };
}

/** A sandbox in memory, and a client of it that knows the current credentials. Nothing grows with the number of calls. */
export class EmulatedService {
  /** Clock of the sandbox, in milliseconds since the epoch. */
  now = 0;
  readonly #state: State;
  readonly #sandbox: Sandbox;
  readonly #application: Application;
  /** The last exchange started, by uuid. */
  readonly #tokens = new Map<string, { operation: Operation; token: string }>();
  /** Whether the last call left an audit item. A call refused because the vault was locked leaves none. */
  #recorded = false;

  /** `state` is for tests that inspect it. */
  constructor(policy: Partial<Policy>, state = emptyState()) {
    this.#state = state;
    this.#application = state.application;
    const save = (state: State): void => {
      this.#recorded = state.audit.length > 0;
      state.audit.length = 0;
    };
    this.#sandbox = new Sandbox({
      now: () => this.now,
      policy: { ...policy, rate: 0 },
      state: this.#state,
      save,
    });
  }

  /** Returns the current state of a vault, or undefined if there is none. */
  look(uuid: string): Readonly<VaultState> | undefined {
    if (!Object.hasOwn(this.#state.vaults, uuid)) return undefined;
    this.#sandbox.accepts(uuid, wrongPair);
    return this.#state.vaults[uuid];
  }

  /** @throws `invalid-input` for an invalid uuid. */
  create(uuid: string, kind: Kind): void {
    const contents = isCreditCard(kind) ? { creditCard: card } : { content: "re-enactment" };
    this.#sandbox.addVault({
      uuid,
      kind,
      ...contents,
      ...(isOnline(kind) ? { device: demoDevice } : {}),
    });
  }

  /** Starts an exchange with the current credentials, or with wrong ones. */
  start(uuid: string, operation: Operation, isRight = true): CallResult {
    const kind = this.#state.vaults[uuid]?.kind;
    const endpoint = kind && findEndpoint(kind, operation, "start");
    if (endpoint === undefined) return "impossible";
    const newVault = isCreditCard(endpoint.kind)
      ? { creditCard: card }
      : { content: "re-enactment" };
    const { result, body } = this.#call(uuid, endpoint, {
      ...this.#startBody(uuid, endpoint.kind, isRight),
      ...(operation === "update" ? { newVault } : {}),
    });
    if (result === "accepted")
      this.#tokens.set(uuid, {
        operation,
        token: (body["transactionToken"] as { token: string }).token,
      });
    return result;
  }

  /** Ends the last exchange started, whatever its operation, or sends a wrong token. */
  end(uuid: string, operation: Operation, isRight = true): CallResult {
    const kind = this.#state.vaults[uuid]?.kind;
    const endpoint = kind && findEndpoint(kind, operation, "end");
    if (endpoint === undefined) return "impossible";
    const token = isRight ? this.#tokens.get(uuid)?.token : undefined;
    return this.#call(uuid, endpoint, { token: token ?? "none" }).result;
  }

  delete(uuid: string, isRight = true): CallResult {
    const kind = this.#state.vaults[uuid]?.kind;
    if (kind === undefined) return "impossible";
    return this.#call(uuid, singleEndpoint(kind, "delete"), this.#startBody(uuid, kind, isRight))
      .result;
  }

  /** Locks a vault in the console, as `unlock` unlocks it. Both throw `invalid-input` for a deleted vault. */
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

  #call(
    uuid: string,
    endpoint: Call["endpoint"],
    body: unknown,
  ): { result: CallResult; body: Record<string, unknown> } {
    const { uuid: application, apiKey } = this.#application;
    const headers = { "x-application-uuid": application, "x-api-key": apiKey };
    const call = { endpoint, uuid, headers, body, remoteAddress: "127.0.0.1", target: "" };
    const outcome = this.#sandbox.call(call);
    return { result: this.#resultOf(outcome.status), body: outcome.body };
  }

  #resultOf(status: number): CallResult {
    if (status === 423) return this.#recorded ? "locked-now" : "locked-already";
    return (
      ({ 200: "accepted", 403: "credentials", 400: "token", 410: "deleted" } as const)[status] ??
      "impossible"
    );
  }
}

/** Returns the kind named in the path of an endpoint, or undefined. */
export const kindIn = (hint: string | undefined): Kind | undefined =>
  kinds.find((kind) => hint?.includes(kind));

/** Returns the call named in the path of an endpoint, or undefined. */
export const stepIn = (hint: string | undefined): `${Operation}-${Step}` | undefined =>
  (["get-start", "get-end", "update-start", "update-end"] as const).find((step) =>
    hint?.includes(step),
  );

export const iso = (time: number): string => new Date(time).toISOString();

/** Describes why the emulated service locked a vault. */
export function lockWords(
  { lockReason }: Readonly<VaultState>,
  rules: { limits: { failedAttempts: number; unackedStarts: number }; autoLockAfterMs: number },
): string {
  switch (lockReason) {
    case "failed":
      return `${rules.limits.failedAttempts} failed attempts in a row`;
    case "unacknowledged":
      return `${rules.limits.unackedStarts} unacknowledged starts`;
    case "auto-lock":
      return `no successful start for ${duration(rules.autoLockAfterMs)}`;
    case "console":
    case null:
      return "an administrator";
  }
}

/** Formats a duration in its largest unit: `5 min`, `1.5 h`, `365 days`. */
export function duration(milliseconds: number): string {
  const units = [
    { name: "days", size: 86_400_000 },
    { name: "h", size: 3_600_000 },
    { name: "min", size: 60_000 },
    { name: "s", size: 1000 },
  ];
  const unit = units.find(({ size }) => milliseconds >= size) ?? { name: "ms", size: 1 };
  return `${Number((milliseconds / unit.size).toFixed(1))} ${unit.name}`;
}
