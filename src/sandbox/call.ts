import type { AuditItem } from "../documents/sandbox.ts";
import { isOnline, type Endpoint } from "../protocol/endpoints.ts";
import type { Device, Metadata } from "../protocol/fields.ts";
import { uuid as uuidField } from "../protocol/fields.ts";
import { requestSchema, type Application, type Credentials } from "../protocol/requests.ts";
import { validate } from "../protocol/validate.ts";
import { rateLimited, Refusal, refuse, refuseInvalid } from "./outcome.ts";
import { isWhitelisted, refuseJwt } from "./policy.ts";
import { findVault, record, sameSecret } from "./model.ts";
import type { VaultState, World } from "./model.ts";
import type { VaultInput } from "./seeds.ts";

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
  newVault?: Pick<VaultInput, "creditCard" | "content">;
  vault: { credentials: Credentials };
}

/** Validated body of a create call. */
export interface CreateBody extends Body {
  metadata?: Metadata;
  vault: Pick<VaultInput, "creditCard" | "content" | "hashedPin" | "maxUsage" | "expiryDate">;
}

/**
 * Checks everything that does not depend on the vault: the rate limit (every call of a known
 * application counts, even an invalid one), path and body, the application (in the body of a start
 * call, the headers of an end call), the caller's address, the JWT. Returns the validated body.
 * @throws Refusal
 */
export function admit(world: World, window: RateWindow, call: Call): unknown {
  const { endpoint } = call;
  const wrong = wrongApplication(world, call);
  const wait = wrong === undefined ? window.admit(world.now) : 0;
  if (wait > 0) throw new Refusal(rateLimited(wait));
  const checked = validate<unknown>(requestSchema(endpoint), call.body);
  const path = endpoint.operation === "create" ? [] : validate(uuidField, call.uuid).violations;
  const violations = [
    ...path.map(({ rule }) => ({ path: "vaultUuid", rule })),
    ...(call.body === undefined && endpoint.method !== "GET"
      ? [{ path: "", rule: "must be JSON" }]
      : checked.violations),
  ];
  if (violations.length > 0) refuseInvalid(violations);
  if (wrong !== undefined) {
    // A wrong key in the headers leaves no item (docs/interface.md, Application key).
    if (endpoint.applicationIn === "body")
      recordCall(world, call, {
        action: "API_KEY_CHECK",
        outcome: "FAILURE",
        description: "API key check failed",
        applicationUuid: wrong.uuid || null,
      });
    refuse("application", wrong.property, "the application or its key is wrong");
  }
  if (!isWhitelisted(call.remoteAddress, world.policy.whitelist)) {
    const description = "address not in the whitelist";
    recordCall(world, call, { action: "ADDRESS_CHECK", outcome: "FAILURE", description });
    refuse("address", undefined, "the IP address is not in the whitelist of the application");
  }
  const { jwt } = world.policy;
  if (jwt !== null && !isOnline(endpoint.kind)) {
    const why = refuseJwt(jwt, call.headers["authorization"], world.now);
    if (why !== undefined) refuse("jwt", "authorization", why);
  }
  return checked.ok ? checked.value : undefined;
}

/** Returns a call's application uuid and its wrong property; undefined if both are right. */
function wrongApplication(
  { state: { application } }: World,
  { endpoint, headers, body }: Call,
): { uuid: string; property: string } | undefined {
  const inBody = endpoint.applicationIn === "body";
  const given = inBody
    ? (body as { application?: Record<string, unknown> } | null | undefined)?.application
    : { uuid: headers["x-application-uuid"], apiKey: headers["x-api-key"] };
  const [uuid = "", apiKey = ""] = [given?.["uuid"], given?.["apiKey"]].map((value) =>
    typeof value === "string" ? value : "",
  );
  if (uuid.toLowerCase() !== application.uuid.toLowerCase())
    return { uuid, property: inBody ? "application.uuid" : "x-application-uuid" };
  if (!sameSecret(apiKey, application.apiKey))
    return { uuid, property: inBody ? "application.apiKey" : "x-api-key" };
  return undefined;
}

/** Returns the properties of an audit item that tell where a call came from. */
export function originOf(call: Call) {
  return {
    vaultUuid: call.uuid === "" ? null : call.uuid,
    ipAddress: call.remoteAddress,
    endpoint: call.target,
  };
}

/**
 * Records what came of a call. The actions are the current names (docs/interface.md, Audit items),
 * and two invented ones for failed checks of key and address. A failed attempt is READ_VAULT,
 * UPDATE_VAULT or DELETE_VAULT with FAILURE.
 */
export function recordCall(
  world: World,
  call: Call,
  item: Partial<AuditItem> & Pick<AuditItem, "description">,
): void {
  const { operation, step } = call.endpoint;
  const begun = `${operation === "get" ? "READ" : operation.toUpperCase()}_VAULT`;
  const action = step === "end" ? `ACKNOWLEDGE_${begun}` : begun;
  record(world, { action, ...originOf(call), ...item });
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
