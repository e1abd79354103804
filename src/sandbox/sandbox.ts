import { randomUUID } from "node:crypto";
import { attempt } from "../attempt.ts";
import { VaultError } from "../errors.ts";
import { defined } from "../defined.ts";
import type { AuditItem } from "../documents/sandbox.ts";
import type { Pair } from "../protocol/answers.ts";
import { endpoints, type Endpoint } from "../protocol/endpoints.ts";
import { parseJson } from "../protocol/json.ts";
import { defaults } from "../protocol/limits.ts";
import type { Application } from "../protocol/requests.ts";
import { answerWith, Faults, type FaultRule } from "./faults.ts";
import { processCall, samePair, type Call } from "./operations.ts";
import { refusal, serverError, type Outcome, type SandboxRequest } from "./outcome.ts";
import { completePolicy, rateWindow, type Admission, type Policy } from "./policy.ts";
import { newPair, allVaults, createVault, findVault, lock, unlock } from "./model.ts";
import type { VaultInput } from "./seeds.ts";
import type { KnownVault, State, VaultState, World } from "./model.ts";

export interface SandboxOptions {
  now(): number;
  policy?: Partial<Policy> | undefined;
  /** Path before `/vault/…`; default `/vaultsvc/v1-2`. */
  prefix?: string;
  /** Delay before each response of a vault endpoint, in milliseconds. */
  latencyMs?: number | undefined;
  faults?: readonly FaultRule[];
  /** Called when a fault has taken effect on a call, before anything of the answer is sent. */
  onFault?: () => void;
  /** Default: that of the state, else a random one. */
  application?: Application | undefined;
  /** The vaults of a new sandbox (`parseSeed`), which `reset` and `rewind` restore. */
  seed?: readonly VaultInput[] | undefined;
  /** State of an earlier sandbox, used instead of `seed`. */
  state?: State | undefined;
  /** Saves the state after every change, before the response. The call throws what this throws. */
  save?(state: State): void;
}

/** A request that arrived: what a client sends. */
export interface LoggedRequest extends Pick<Endpoint, "kind" | "method" | "operation" | "step"> {
  uuid: string;
  time: number;
  /** False if a fault prevented processing. */
  processed: boolean;
  /** HTTP status of the processed request, even if the response was lost. */
  status: number | null;
}

const keptRequests = 10_000;

/** The service without a socket: endpoints, the administrator's console, and inspection. */
export class Sandbox {
  readonly #state: State;
  readonly #policy: Policy;
  readonly #admission: Admission;
  readonly #options: SandboxOptions;
  readonly #requests: LoggedRequest[] = [];
  readonly faults: Faults;

  constructor(options: SandboxOptions) {
    const { application, seed = [] } = options;
    const state = options.state ?? {
      application: { uuid: randomUUID(), apiKey: randomUUID() },
      vaults: {},
      initial: seed.map((input) => ({ uuid: randomUUID(), credentials: newPair(), ...input })),
      audit: [],
    };
    this.#state = state;
    this.#options = options;
    this.faults = new Faults(options.faults);
    this.#policy = completePolicy(options.policy ?? {});
    this.#admission = rateWindow(this.#policy.rate);
    state.application = application ?? state.application;
    if (options.state === undefined) this.rewind();
    else this.#save();
  }

  get application(): Application {
    return { ...this.#state.application };
  }

  /** Answers a request. Never throws: a failed save is HTTP 500. */
  readonly handle = ({ method, path: withQuery, ...request }: SandboxRequest): Outcome => {
    const { prefix = defaults.apiPrefix, latencyMs = 0 } = this.#options;
    const [path = ""] = withQuery.split("?", 1);
    const start = prefix.replace(/\/+$/, "");
    const found = path.startsWith(`${start}/`) ? findEndpoint(path.slice(start.length)) : undefined;
    if (found === undefined)
      return refusal(404, "NO-SUCH-ENDPOINT", [{ message: "no such endpoint" }]);
    const allow = found.endpoint.method;
    if (method !== allow) {
      const message = `the method must be ${allow}`;
      return refusal(405, "METHOD", [{ message }], { headers: { allow } });
    }
    const body = attempt(() => parseJson(request.body));
    const answer = this.#answer({ ...found, ...request, body, target: `${method} ${path}` });
    return latencyMs === 0 ? answer : { ...answer, delayMs: (answer.delayMs ?? 0) + latencyMs };
  };

  #answer(call: Call): Outcome {
    const request = { ...call.endpoint, uuid: call.uuid, time: this.#options.now() };
    const logged: LoggedRequest = { ...request, processed: false, status: null };
    this.#requests.push(logged);
    if (this.#requests.length > keptRequests) this.#requests.shift();
    const fault = this.faults.take(request);
    const outcome = answerWith(fault, () => {
      const processed = this.#process(call);
      Object.assign(logged, { processed: true, status: processed.status });
      return processed;
    });
    if (fault !== undefined) this.#options.onFault?.();
    return outcome;
  }

  #process(call: Call): Outcome {
    try {
      const outcome = processCall(this.#world(), this.#admission, call);
      this.#save();
      return outcome;
    } catch (error) {
      const reason =
        error instanceof VaultError ? error.message : "internal failure of the sandbox";
      return serverError(500, { reason });
    }
  }

  #save(): void {
    this.#options.save?.(this.#state);
  }

  /**
   * Restores the seed with new credentials; removes other vaults, exchanges, counters, audit items;
   * keeps the application. Old credentials stay invalid: clients never send replaced ones again.
   */
  reset(): void {
    this.#begin((input) => ({ ...input, credentials: newPair() }));
  }

  /** Resets with the credentials of the seed, for clients whose state is restored as well. */
  rewind(): void {
    this.#begin((input) => input);
  }

  #begin(again: (input: VaultInput) => VaultInput): void {
    this.#state.vaults = {};
    this.#state.audit = [];
    for (const input of this.#state.initial) createVault(this.#world(), again(input));
    this.#save();
  }

  /** Returns every vault that is not deleted, with its current credentials. */
  vaults(): KnownVault[] {
    return allVaults(this.#world())
      .filter(({ state }) => state !== "deleted")
      .map(({ uuid, kind, pair, hashedPin, label = kind, device }) => ({
        uuid,
        kind,
        credentials: { ...pair, ...defined({ hashedPin }) },
        label,
        ...defined({ device }),
      }));
  }

  /** @throws `invalid-input` for an unknown or deleted vault or ambiguous label, as `unlock` does */
  lock(name: string): VaultState {
    return this.#change(name, (vault) => lock(vault, "console"));
  }

  unlock(name: string): VaultState {
    return this.#change(name, (vault) => unlock(this.#world(), vault));
  }

  #change(name: string, change: (vault: VaultState) => void): VaultState {
    const vault = this.#find(name);
    if (vault.state === "deleted")
      throw new VaultError("invalid-input", `the vault ${name} was deleted`);
    change(vault);
    this.#save();
    return vault;
  }

  /**
   * Returns a copy of a vault, deleted or not, which later requests do not change.
   * @throws `invalid-input` for an unknown vault
   */
  inspect(uuid: string): VaultState {
    return structuredClone(this.#find(uuid));
  }

  /** Whether a vault is active and has this pair. Counts nothing; the next start may still lock. */
  accepts(uuid: string, pair: Pair): boolean {
    const vault = this.#find(uuid);
    return vault.state === "active" && samePair(vault.pair, pair);
  }

  /** Returns the last 10,000 requests of vault endpoints, oldest first. */
  requests(): readonly LoggedRequest[] {
    return this.#requests;
  }

  audit(): readonly AuditItem[] {
    // Deletes what has expired, which is an item too.
    allVaults(this.#world());
    return this.#state.audit;
  }

  #world(): World {
    return { state: this.#state, policy: this.#policy, now: this.#options.now() };
  }

  #find(name: string): VaultState {
    const vault = findVault(this.#world(), name);
    if (vault !== undefined) return vault;
    const labeled = this.vaults().filter(({ label }) => label === name);
    const [only] = labeled;
    if (only !== undefined && labeled.length === 1) return this.#find(only.uuid);
    const which = only === undefined ? "no vault" : `${labeled.length} vaults with the label`;
    throw new VaultError("invalid-input", `the sandbox has ${which} ${name}; nothing was changed`);
  }
}

/** Path segment that stands for any uuid. */
const placeholder = "-";

function findEndpoint(path: string): { endpoint: Endpoint; uuid: string } | undefined {
  const segments = path.split("/");
  const shape = segments.map((segment, at) => (at === 4 ? placeholder : segment)).join("/");
  const endpoint = endpoints.find((each) => each.path(placeholder) === shape);
  const [, , , , uuid = ""] = segments;
  // One that cannot be decoded is refused as a uuid later.
  return endpoint && { endpoint, uuid: attempt(() => decodeURIComponent(uuid)) ?? uuid };
}
