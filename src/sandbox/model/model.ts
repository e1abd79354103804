import { VaultError } from "../../errors.ts";
import type { Application } from "../../protocol/requests.ts";
import type { Call, CreateBody, StartBody } from "./call.ts";
import { admit, RateWindow } from "./call.ts";
import type { Outcome } from "./outcome.ts";
import type { Policy } from "./policy.ts";
import { completePolicy } from "./policy.ts";
import type { Random } from "../seeds/random.ts";
import { newPair, newUuid, seededRandom, systemRandom } from "../seeds/random.ts";
import type { LoggedRequest } from "./request-log.ts";
import { arrived } from "./request-log.ts";
import { createCall, deleteCall, infoCall } from "./single.ts";
import { end, samePair, start } from "./exchange.ts";
import type { Pair } from "../../protocol/answers.ts";
import type { AuditItem, State, VaultState, World } from "./state.ts";
import type { VaultInput } from "../seeds/seeds.ts";
import type { KnownVault } from "./vaults.ts";
import { createVault, findVault, knownVault, lock, unlock } from "./vaults.ts";

interface SandboxOptions {
  now(): number;
  policy?: Partial<Policy>;
  /** Makes uuids, credentials and tokens the same on every run. */
  randomSeed?: string;
  application?: Application;
  /** The vaults of a new sandbox, which `reset` and `rewind` restore. */
  seed?: readonly VaultInput[];
  /** State of an earlier sandbox, used instead of `seed`. */
  state?: State;
  /** Saves the state after every change, before the response is sent. The call throws what this throws. */
  save?(state: State): void;
}

const keptRequests = 10_000;

/** The emulated service without a socket: its endpoints, the administrator's console, and inspection for tests. */
export class Sandbox {
  readonly #state: State;
  readonly #policy: Policy;
  readonly #random: Random;
  readonly #window: RateWindow;
  readonly #now: () => number;
  readonly #save: (state: State) => void;
  readonly #requests: LoggedRequest[] = [];

  constructor(options: SandboxOptions) {
    this.#now = () => options.now();
    this.#policy = completePolicy(options.policy ?? {});
    this.#state = options.state ?? {
      application: { uuid: "", apiKey: "" },
      vaults: {},
      initial: [],
      audit: [],
      drawn: 0,
    };
    this.#random =
      options.randomSeed === undefined
        ? systemRandom
        : seededRandom(options.randomSeed, this.#state);
    this.#window = new RateWindow(this.#policy.rate);
    this.#save = (state) => options.save?.(state);
    if (options.state === undefined) {
      this.#state.application = { uuid: newUuid(this.#random), apiKey: newUuid(this.#random) };
      this.#seed(options.seed ?? []);
    }
    if (options.application !== undefined) this.#state.application = options.application;
    this.#save(this.#state);
  }

  get application(): Application {
    return { ...this.#state.application };
  }

  get random(): Random {
    return this.#random;
  }

  /** Processes a request of a vault endpoint. */
  call(call: Call): Outcome {
    const world = this.#world();
    const admitted = admit(world, this.#window, call);
    const outcome = admitted.ok ? route(world, call, admitted.body) : admitted.outcome;
    this.#save(this.#state);
    return outcome;
  }

  /** Adds a request to the log of `requests()`, whether or not it will be processed. */
  received(call: Call): LoggedRequest {
    const world = this.#world();
    const request = arrived(call, findVault(world, call.uuid), world.now);
    this.#requests.push(request);
    if (this.#requests.length > keptRequests) this.#requests.shift();
    return request;
  }

  /**
   * Adds a vault, which `reset` removes.
   * @throws `invalid-input` for an invalid vault
   */
  addVault(input: VaultInput): KnownVault {
    const vault = createVault(this.#world(), input);
    this.#save(this.#state);
    return knownVault(vault);
  }

  /**
   * Restores the seed, with new credentials; removes other vaults, exchanges, counters and audit items; keeps the application. The old
   * credentials stay invalid: a client that has seen them replaced never sends them again.
   */
  reset(): void {
    this.#begin(
      this.#state.initial.map((input) => ({ ...input, credentials: newPair(this.#random) })),
    );
  }

  /** Resets with the credentials of the seed, for clients whose state is restored as well. */
  rewind(): void {
    this.#begin(this.#state.initial);
  }

  /** Returns every vault that is not deleted, with its current credentials. */
  vaults(): KnownVault[] {
    const world = this.#world();
    const all = Object.keys(this.#state.vaults).map((uuid) => findVault(world, uuid));
    return all
      .filter((vault) => vault !== undefined && vault.state !== "deleted")
      .map((vault) => knownVault(vault as VaultState));
  }

  /**
   * Locks a vault in the console.
   * @throws `invalid-input` for an unknown or deleted vault, as `unlock` does
   */
  lock(uuid: string): void {
    lock(this.#open(uuid), "console");
    this.#save(this.#state);
  }

  /** Unlocks a vault in the console, which resets both counters and moves autoLockDate. */
  unlock(uuid: string): void {
    unlock(this.#world(), this.#open(uuid));
    this.#save(this.#state);
  }

  /**
   * Returns a copy of a vault, deleted or not, which later requests do not change.
   * @throws `invalid-input` for an unknown vault
   */
  inspect(uuid: string): VaultState {
    return structuredClone(this.#find(uuid));
  }

  /** Whether a vault is active and accepts this pair. Counts nothing, and ignores that the next start might lock the vault. */
  accepts(uuid: string, pair: Pair): boolean {
    const vault = this.#find(uuid);
    return vault.state === "active" && samePair(vault.pair, pair);
  }

  /** Returns the last 10,000 requests of vault endpoints, oldest first. */
  requests(): readonly LoggedRequest[] {
    return this.#requests;
  }

  /** Returns all audit items in the order of recording. */
  audit(): readonly AuditItem[] {
    const world = this.#world();
    for (const uuid of Object.keys(this.#state.vaults)) findVault(world, uuid);
    return this.#state.audit;
  }

  #seed(inputs: readonly VaultInput[]): void {
    const world = this.#world();
    for (const [index, input] of inputs.entries()) {
      const { uuid, pair } = createVault(world, input, `seed, vault ${index + 1}`);
      this.#state.initial.push({ ...structuredClone(input), uuid, credentials: pair });
    }
  }

  #begin(inputs: readonly VaultInput[]): void {
    this.#state.vaults = {};
    this.#state.audit = [];
    for (const input of inputs) createVault(this.#world(), input);
    this.#save(this.#state);
  }

  #world(): World {
    return { state: this.#state, policy: this.#policy, random: this.#random, now: this.#now() };
  }

  #find(uuid: string): VaultState {
    const vault = findVault(this.#world(), uuid);
    if (vault === undefined)
      throw new VaultError("invalid-input", `the sandbox has no vault ${uuid}`);
    return vault;
  }

  #open(uuid: string): VaultState {
    const vault = this.#find(uuid);
    if (vault.state === "deleted")
      throw new VaultError("invalid-input", `the vault ${uuid} was deleted`);
    return vault;
  }
}

function route(world: World, call: Call, body: unknown): Outcome {
  const { operation, step } = call.endpoint;
  if (step === "end") return end(world, call, (body as { token: string }).token);
  switch (operation) {
    case "get":
    case "update":
      return start(world, call, operation, body as StartBody);
    case "create":
      return createCall(world, call, body as CreateBody);
    case "delete":
      return deleteCall(world, call, body as StartBody);
    case "info":
      return infoCall(world, call);
  }
}
