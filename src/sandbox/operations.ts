import { defined } from "../defined.ts";
import type { AuditItem } from "../documents/sandbox.ts";
import type { Pair } from "../protocol/answers.ts";
import { isOnline, type Endpoint, type Operation } from "../protocol/endpoints.ts";
import { uuid as uuidField, type Device } from "../protocol/fields.ts";
import { requestSchema, type Credentials } from "../protocol/requests.ts";
import { validate } from "../protocol/validate.ts";
import { createVault, findVault, iso, lock, newPair, newToken } from "./model.ts";
import { record, remove, sameSecret } from "./model.ts";
import type { PendingExchange, VaultState, World } from "./model.ts";
import { rateLimited, Refusal, refuse, refuseInvalid, success } from "./outcome.ts";
import type { Outcome, SandboxRequest } from "./outcome.ts";
import { isWhitelisted, refuseJwt, type Admission } from "./policy.ts";
import type { VaultInput } from "./seeds.ts";

export interface Call extends Pick<SandboxRequest, "headers" | "remoteAddress"> {
  endpoint: Endpoint;
  /** Empty for a create call. */
  uuid: string;
  /** Parsed JSON; undefined if the body is not JSON. */
  body: unknown;
  /** Method and path, for audit items. */
  target: string;
}

interface StartBody extends Pick<VaultInput, "device"> {
  externalRef?: string;
  newVault?: Pick<VaultInput, "creditCard" | "content">;
  vault: { credentials: Credentials };
}

interface CreateBody extends Pick<VaultInput, "device" | "metadata"> {
  externalRef?: string;
  vault: Pick<VaultInput, "creditCard" | "content" | "hashedPin" | "maxUsage" | "expiryDate">;
}

/** Processes a call, and returns its outcome, a refusal too. */
export function processCall(world: World, admission: Admission, call: Call): Outcome {
  const { operation, step } = call.endpoint;
  const begins = {
    get: start,
    update: start,
    create: createCall,
    delete: deleteCall,
    info: infoCall,
  };
  try {
    // The schema of the endpoint makes the body that its function takes.
    const body = admit(world, admission, call) as never;
    return (step === "end" ? end : begins[operation])(world, call, body);
  } catch (error) {
    if (error instanceof Refusal) return error.outcome;
    throw error;
  }
}

/**
 * Checks everything that does not depend on the vault: the rate limit (every call of a known
 * application counts, even an invalid one), path and body, the application (in the body of a start
 * call, the headers of an end call), the caller's address, the JWT. Returns the validated body.
 * @throws Refusal
 */
function admit(world: World, admission: Admission, call: Call): unknown {
  const { endpoint } = call;
  const wrong = wrongApplication(world, call);
  const wait = wrong === undefined ? admission(world.now) : 0;
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

const originOf = ({ uuid, remoteAddress, target }: Call) => ({
  vaultUuid: uuid || null,
  ipAddress: remoteAddress,
  endpoint: target,
});

/**
 * Records what came of a call. The actions are the current names (docs/interface.md, Audit items),
 * and two invented ones for failed checks of key and address. A failed attempt is READ_VAULT,
 * UPDATE_VAULT or DELETE_VAULT with FAILURE.
 */
function recordCall(
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
 * Returns the vault if it has the kind of the endpoint; a locked one for an info call alone.
 * @throws Refusal (404, 410 or 423)
 */
function openVault(world: World, { endpoint, uuid }: Call): VaultState {
  const vault = findVault(world, uuid);
  if (vault?.kind !== endpoint.kind) refuse("unknown", "vaultUuid", "no such vault");
  if (vault.state === "deleted") refuse("deleted", "vaultUuid", "the vault was deleted");
  if (vault.state === "locked" && endpoint.operation !== "info")
    refuse("locked", "vaultUuid", "the vault is locked");
  return vault;
}

/**
 * Handles a start, after `admit`. Wrong credentials count as a failed attempt. Correct ones count
 * as an unacknowledged start, drop a pending exchange, and offer a pair, invalid until the end.
 */
function start(world: World, call: Call, body: StartBody): Outcome {
  const vault = openVault(world, call);
  const operation = call.endpoint.operation as Operation;
  checkCredentials(world, call, vault, body);
  const externalRef = body.externalRef ?? null;
  vault.pending = null;
  vault.failedAccesses = 0;
  vault.unackedStarts += 1;
  vault.maxUnackedStarts = Math.max(vault.maxUnackedStarts, vault.unackedStarts);
  if (vault.unackedStarts >= world.policy.unackedStarts) {
    lock(vault, "unacknowledged");
    const why = "too many starts without acknowledgement";
    const description = `${why}, vault locked`;
    recordCall(world, call, { outcome: "FAILURE", externalRef, description });
    refuse("locked", "vaultUuid", `the vault is locked: ${why}`);
  }
  vault.counts.starts += 1;
  vault.autoLockDate = world.now + world.policy.autoLockAfterMs;
  vault.pending = {
    operation,
    token: newToken(),
    offered: newPair(),
    expiresAt: world.now + world.policy.tokenTtlMs,
    externalRef,
    ...body.newVault,
  };
  const reads = operation === "get";
  recordCall(world, call, { externalRef, description: `${reads ? "read" : "update"} started` });
  return success({
    transactionToken: {
      token: vault.pending.token,
      expiry: iso(vault.pending.expiresAt),
      /** The unit is not documented: a client must not rely on milliseconds. */
      timeToExpire: world.policy.tokenTtlMs,
    },
    vault: responseVault(reads, vault, vault.pending.offered),
  });
}

/**
 * Counts wrong credentials as a failed attempt, and locks at the limit, with the same refusal.
 * @throws Refusal
 */
function checkCredentials(world: World, call: Call, vault: VaultState, body: StartBody): void {
  const property = wrongCredential(vault, body);
  if (property === undefined) return;
  vault.counts.failed += 1;
  vault.failedAccesses += 1;
  vault.maxFailedAccesses = Math.max(vault.maxFailedAccesses, vault.failedAccesses);
  const locks = vault.failedAccesses >= world.policy.failedAttempts;
  if (locks) lock(vault, "failed");
  const description = `bad credentials (${property})${locks ? ", vault locked" : ""}`;
  const { externalRef = null } = body;
  recordCall(world, call, { outcome: "FAILURE", externalRef, description });
  refuse("credentials", property, "the vault credentials are wrong");
}

function wrongCredential(vault: VaultState, body: StartBody): string | undefined {
  const { hashedPin = "", ...given } = body.vault.credentials;
  const isPinRight = sameSecret(hashedPin, vault.hashedPin ?? "");
  if (!samePair(vault.pair, given) || !isPinRight) return "vault.credentials";
  const { device } = body;
  return vault.device === undefined || device === undefined || deviceMatches(vault.device, device)
    ? undefined
    : "device";
}

export const samePair = (a: Pair, b: Pair): boolean =>
  [sameSecret(a.encryptedData, b.encryptedData), sameSecret(a.payload, b.payload)].every(Boolean);

/**
 * Handles get-end and update-end, after `admit`. Only an end call makes the offered pair current,
 * applies an update and uses up a read. A token that is wrong, expired or used changes nothing.
 */
function end(world: World, call: Call, { token }: { token: string }): Outcome {
  const operation = call.endpoint.operation as Operation;
  const known = findVault(world, call.uuid);
  if (known !== undefined) known.counts.ends += 1;
  const isRepeated =
    known?.kind === call.endpoint.kind && isTokenOf(known.acknowledged, operation, token);
  if (world.policy.idempotentEnd && isRepeated) return success();
  const vault = openVault(world, call);
  const { pending } = vault;
  if (pending === null || !isTokenOf(pending, operation, token))
    refuse("token", "token", "the token is unknown or has expired");
  const { offered, externalRef, creditCard, content } = pending;
  Object.assign(vault, defined({ creditCard, content }));
  vault.pair = offered;
  vault.pending = null;
  vault.acknowledged = { operation, token };
  vault.failedAccesses = 0;
  vault.unackedStarts = 0;
  vault.lastModified = world.now;
  vault.counts.acknowledged += 1;
  const description = `${operation === "get" ? "read" : "update"} acknowledged`;
  recordCall(world, call, { externalRef, description });
  if (operation === "get" && vault.usesRemaining !== null) {
    vault.usesRemaining -= 1;
    if (vault.usesRemaining === 0) remove(world, vault, { description: "no uses remain" });
  }
  return success();
}

const isTokenOf = (
  exchange: Pick<PendingExchange, "operation" | "token"> | null,
  operation: string,
  token: string,
): boolean =>
  exchange !== null && exchange.operation === operation && sameSecret(exchange.token, token);

// The extended operations, after `admit` (docs/interface.md, Extended operations). The method of a
// delete and the responses to a create and a delete are guesses.

/** The response shows the vault as a start does, without its contents. */
function createCall(world: World, call: Call, body: CreateBody): Outcome {
  const { vault, device, metadata, externalRef = null } = body;
  const input = { kind: call.endpoint.kind, ...vault, ...defined({ device, metadata }) };
  const created = createVault(world, input, { ...originOf(call), externalRef });
  return success({ vault: responseVault(false, created, created.pair) });
}

/** A pending exchange prevents nothing. Wrong credentials count as a failed attempt. */
function deleteCall(world: World, call: Call, body: StartBody): Outcome {
  const vault = openVault(world, call);
  checkCredentials(world, call, vault, body);
  const { externalRef = null } = body;
  remove(world, vault, { ...originOf(call), externalRef, description: "vault deleted" });
  return success();
}

/** Counts nothing and changes no date. */
function infoCall(world: World, call: Call): Outcome {
  const vault = openVault(world, call);
  return success({ ...facts(vault), metadata: vault.metadata ?? {} });
}

/** Returns a response's vault (docs/interface.md, Vault). `usesRemaining` is 1 in the last read. */
function responseVault(reads: boolean, vault: VaultState, pair: Pair): Record<string, unknown> {
  const { uuid, creditCard, content } = vault;
  const contents = reads ? defined({ creditCard, content }) : {};
  return { uuid, credentials: pair, ...contents, ...facts(vault) };
}

function facts(vault: VaultState): Record<string, unknown> {
  return {
    ...defined({
      usesRemaining: vault.usesRemaining ?? undefined,
      expiryDate: vault.expiryDate === null ? undefined : iso(vault.expiryDate),
    }),
    autoLockDate: iso(vault.autoLockDate),
    dateCreated: iso(vault.dateCreated),
    lastModified: iso(vault.lastModified),
  };
}

/**
 * Tolerant matching (docs/interface.md, Device): a newer browser version or additional fonts match;
 * another browser or operating system, an older version or a missing font does not.
 */
function deviceMatches(known: Device, given: Device): boolean {
  return (
    given.browserType === known.browserType &&
    given.osType === known.osType &&
    numbersOf(given).localeCompare(numbersOf(known), "en", { numeric: true }) >= 0 &&
    known.fonts.every((font) => given.fonts.includes(font))
  );
}

/** The version of a browser without zeros at its end: missing parts count as 0. */
const numbersOf = ({ browserVersion }: Device): string => browserVersion.replace(/(?:\.0*)+$/, "");
