import { isOnline, type Endpoint } from "../protocol/endpoints.ts";
import type { CreditCard, Device, Metadata } from "../protocol/fields.ts";
import { uuid as uuidField } from "../protocol/fields.ts";
import { requestSchema, type Application, type Credentials } from "../protocol/requests.ts";
import { validate, type Violation } from "../protocol/validate.ts";
import { rateLimited, Refusal, refuse, refuseInvalid } from "./outcome.ts";
import { isWhitelisted, refuseJwt } from "./policy.ts";
import { findVault, record, sameSecret } from "./model.ts";
import type { AuditAction, VaultState, World } from "./model.ts";

/** One request of a vault endpoint. */
export interface Call {
  endpoint: Endpoint;
  /** Empty for a create call. */
  uuid: string;
  /** Names in lower case. */
  headers: Record<string, string | undefined>;
  /** Parsed JSON; undefined if the body is not JSON. */
  body: unknown;
  remoteAddress: string;
  /** Method and path, for audit items. */
  target: string;
}

interface Body {
  application: Application;
  device?: Device;
  externalRef?: string;
}

/** Validated body of a start or delete call, for all kinds. */
export interface StartBody extends Body {
  newVault?: { creditCard?: CreditCard; content?: string };
  vault: { credentials: Credentials };
}

/** Validated body of a create call. */
export interface CreateBody extends Body {
  metadata?: Metadata;
  vault: {
    creditCard?: CreditCard;
    content?: string;
    hashedPin?: string;
    maxUsage?: number;
    expiryDate?: string;
  };
}

/**
 * Checks everything that does not depend on the vault: the rate limit (every call of a known application counts, even an invalid one),
 * path and body, the application (in the body of a start call, in the headers of an end call), the caller's address, and the JWT.
 * Returns the validated body.
 * @throws Refusal
 */
export function admit(world: World, window: RateWindow, call: Call): unknown {
  const wrong = checkApplication(world, call);
  const wait = wrong === undefined ? window.admit(world.now) : 0;
  if (wait > 0) throw new Refusal(rateLimited(wait));
  const path = validate(uuidField, call.uuid);
  const violations: Violation[] =
    path.ok || call.endpoint.operation === "create"
      ? []
      : path.violations.map((v) => ({ path: "vaultUuid", rule: v.rule }));
  const checked = validate<unknown>(requestSchema(call.endpoint), call.body);
  if (call.body === undefined && call.endpoint.method !== "GET")
    violations.push({ path: "", rule: "must be JSON" });
  else if (!checked.ok) violations.push(...checked.violations);
  if (violations.length > 0) refuseInvalid(violations);
  if (wrong !== undefined) refuseApplication(world, call, wrong);
  checkAddress(world, call);
  checkToken(world, call);
  return checked.ok ? checked.value : undefined;
}

/** Returns the wrong property, or undefined if uuid and key are correct. */
function checkApplication(world: World, call: Call): string | undefined {
  const { uuid, apiKey } = world.state.application;
  const given = claimedApplication(call);
  const [uuidName, keyName] =
    call.endpoint.applicationIn === "body"
      ? ["application.uuid", "application.apiKey"]
      : ["x-application-uuid", "x-api-key"];
  if (given.uuid.toLowerCase() !== uuid.toLowerCase()) return uuidName;
  return sameSecret(given.apiKey, apiKey) ? undefined : keyName;
}

/** Returns the application that a call names; what is missing or no text is empty. */
function claimedApplication({ endpoint, headers, body }: Call): Application {
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  const given =
    endpoint.applicationIn === "headers"
      ? { uuid: headers["x-application-uuid"], apiKey: headers["x-api-key"] }
      : (body as { application?: Partial<Application> } | null | undefined)?.application;
  return { uuid: text(given?.uuid), apiKey: text(given?.apiKey) };
}

/** Records an audit item, with address and endpoint, if the key is in the body (docs/interface.md, Application key). */
function refuseApplication(world: World, call: Call, property: string): never {
  if (call.endpoint.applicationIn === "body") {
    record(world, {
      action: "API_KEY_CHECK",
      outcome: "FAILURE",
      ...originOf(call),
      applicationUuid: claimedApplication(call).uuid || null,
      description: "API key check failed",
    });
  }
  refuse("application", property, "the application or its key is wrong");
}

/** Records an audit item, as a failed key check does (docs/interface.md, IP whitelist). */
function checkAddress(world: World, call: Call): void {
  if (isWhitelisted(call.remoteAddress, world.policy.whitelist)) return;
  record(world, {
    action: "ADDRESS_CHECK",
    outcome: "FAILURE",
    ...originOf(call),
    description: "address not in the whitelist",
  });
  const message = "the IP address is not in the whitelist of the application";
  refuse("address", undefined, message);
}

/** Checks the JWT on offline vault endpoints, if the application requires one (docs/interface.md, JWT). */
function checkToken(world: World, call: Call): void {
  const { jwt } = world.policy;
  if (jwt === null || isOnline(call.endpoint.kind)) return;
  const why = refuseJwt(jwt, call.headers["authorization"], world.now);
  if (why !== undefined) refuse("jwt", "authorization", why);
}

/** Returns the properties of an audit item that tell where a call came from. */
export function originOf(call: Call) {
  return {
    vaultUuid: call.uuid === "" ? null : call.uuid,
    ipAddress: call.remoteAddress,
    endpoint: call.target,
  };
}

/** Audit actions of starts and deletes, and of end calls (docs/interface.md, Audit items). */
const actions = { get: "READ_VAULT", update: "UPDATE_VAULT", delete: "DELETE_VAULT" } as const;

/** Records the outcome of a start, an end or a delete that reached its vault. */
export function recordCall(
  world: World,
  call: Call,
  outcome: "SUCCESS" | "FAILURE",
  externalRef: string | null,
  description: string,
): void {
  const { operation, step } = call.endpoint;
  const begun = actions[operation as keyof typeof actions];
  const action = (step === "end" ? `ACKNOWLEDGE_${begun}` : begun) as AuditAction;
  record(world, { action, outcome, ...originOf(call), externalRef, description });
}

/**
 * Returns the vault if it has the kind of the endpoint and is active.
 * @throws Refusal (404, 410 or 423)
 */
export function openVault(world: World, call: Call): VaultState {
  const vault = presentVault(world, call);
  if (vault.state === "locked") refuse("locked", "vaultUuid", "the vault is locked");
  return vault;
}

/**
 * Returns the vault, locked or not.
 * @throws Refusal (404 or 410)
 */
export function presentVault(world: World, call: Call): VaultState {
  const vault = findVault(world, call.uuid);
  if (vault?.kind !== call.endpoint.kind) refuse("unknown", "vaultUuid", "no such vault");
  if (vault.state === "deleted") refuse("deleted", "vaultUuid", "the vault was deleted");
  return vault;
}

/** Admits at most `rate` requests in any window of one second. Refused requests do not count. */
export class RateWindow {
  readonly #rate: number;
  #admitted: number[] = [];

  /** A rate of 0 admits everything. */
  constructor(rate: number) {
    this.#rate = rate;
  }

  /** Returns 0 if the request is admitted, else the whole seconds to wait, at least 1. */
  admit(now: number): number {
    if (this.#rate === 0) return 0;
    this.#admitted = this.#admitted.filter((time) => time > now - 1000 && time <= now);
    const oldest = this.#admitted[0];
    if (oldest === undefined || this.#admitted.length < this.#rate) {
      this.#admitted.push(now);
      return 0;
    }
    return Math.max(1, Math.ceil((oldest + 1000 - now) / 1000));
  }
}
