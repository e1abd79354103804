import { VaultError } from "../errors.ts";
import type {
  AuditDocument,
  FaultDocument,
  LockDocument,
  ResetDocument,
  StartDocument,
  StopDocument,
} from "../documents/sandbox.ts";
import { endpoints, singleEndpoints, type AnyEndpoint } from "../protocol/endpoints.ts";
import { parseJson } from "../protocol/json.ts";
import type { Call } from "./call.ts";
import { after, before, parseFault, type Faults } from "./faults.ts";
import type { Outcome, SandboxRequest, SandboxResponse } from "./outcome.ts";
import { refusal, serverError, write } from "./outcome.ts";
import { sameSecret } from "./random.ts";
import type { Sandbox } from "./sandbox.ts";
import type { VaultState } from "./state.ts";

/** A running sandbox: `vaults` have the credentials that are valid now. */
export interface RunningDocument extends StartDocument {
  /** For the control routes. */
  controlToken: string;
  apiPrefix: string;
}

/** The process that serves a sandbox, for the routes that concern it. What these throw, the route reports. */
export interface Serving {
  /** Describes it as it is now. */
  ready(): RunningDocument;
  /** Called after a reset, when the vaults have new credentials. */
  renewReadyFile(): void;
  stop(): void;
}

export interface HandlerParts {
  sandbox: Sandbox;
  faults: Faults;
  controlToken: string;
  /** Absent for a sandbox without a socket: it has no ready file, and nothing to stop. */
  serving?: Serving | undefined;
  /** Path before `/vault/…`, without a trailing slash. */
  prefix: string;
  /** Delay before each response of a vault endpoint, in milliseconds. */
  latencyMs: number;
  /** Called when a fault has taken effect on a call, before anything of the answer is sent. */
  onFault?: (() => void) | undefined;
}

export type Handler = (request: SandboxRequest) => SandboxResponse;

/** Creates the service as a function of a request, without a socket. It never throws; a state that cannot be saved is HTTP 500. */
export function createHandler(parts: HandlerParts): Handler {
  return (request) => write(handle(parts, request));
}

function handle(parts: HandlerParts, request: SandboxRequest): Outcome {
  const path = request.path.split("?", 1)[0] ?? "";
  const [, first, ...rest] = path.split("/");
  if (first === "sandbox") return control(parts, request, rest);
  const found = path.startsWith(`${parts.prefix}/`)
    ? findEndpoint(path.slice(parts.prefix.length))
    : undefined;
  if (found === undefined)
    return refusal(404, "NO-SUCH-ENDPOINT", [{ message: "no such endpoint" }]);
  const { endpoint, uuid } = found;
  if (endpoint.method !== request.method) {
    const message = `the method must be ${endpoint.method}`;
    return refusal(405, "METHOD", [{ message }], { headers: { allow: endpoint.method } });
  }
  const { headers, remoteAddress } = request;
  const target = `${request.method} ${path}`;
  const body = parsed(request.body);
  const answer = answerCall(parts, { endpoint, uuid, headers, body, remoteAddress, target });
  return parts.latencyMs === 0
    ? answer
    : { ...answer, delayMs: (answer.delayMs ?? 0) + parts.latencyMs };
}

/** Path segment that stands for any uuid. */
const placeholder = "-";

function findEndpoint(path: string): { endpoint: AnyEndpoint; uuid: string } | undefined {
  const segments = path.split("/");
  const shape = segments.map((segment, at) => (at === 4 ? placeholder : segment)).join("/");
  const all: readonly AnyEndpoint[] = [...endpoints, ...singleEndpoints];
  const endpoint = all.find((each) => each.path(placeholder) === shape);
  return endpoint && { endpoint, uuid: decoded(segments[4] ?? "") };
}

/** Decodes a path segment. One that cannot be decoded stays as it is, and is refused as a uuid later. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function answerCall(parts: HandlerParts, call: Call): Outcome {
  const { sandbox, faults } = parts;
  const logged = sandbox.received(call);
  const fault = faults.take({ ...call.endpoint, uuid: call.uuid });
  const instead = before(fault);
  if (instead !== undefined) {
    parts.onFault?.();
    return instead;
  }
  logged.processed = true;
  try {
    const outcome = sandbox.call(call);
    logged.status = outcome.status;
    if (fault !== undefined) parts.onFault?.();
    return after(fault, outcome);
  } catch (error) {
    logged.status = 500;
    const reason = error instanceof VaultError ? error.message : "internal failure of the sandbox";
    return serverError(500, { reason });
  }
}

/**
 * Handles the routes under `/sandbox`, for `vault sandbox …` in another process, which prints what they answer. Each requires the control
 * token. No answer but that of `GET ready` has credentials, none has contents.
 */
function control(
  parts: HandlerParts,
  request: SandboxRequest,
  [name = "", ...words]: readonly string[],
): Outcome {
  const reply = (status: number, body: object): Outcome => ({ status, body: { ...body } });
  const failure = (status: number, message: string, hint?: string): Outcome =>
    reply(status, { error: { message, hint } });
  const given = /^Bearer (.+)$/i.exec(request.headers["authorization"] ?? "")?.[1];
  if (given === undefined || !sameSecret(given, parts.controlToken))
    return failure(401, "the control token is missing or wrong");
  const action = actions[`${request.method} ${name}`];
  if (action === undefined || words.length > 1) return failure(404, "no such control route");
  try {
    const answer = reply(200, action(parts, decoded(words[0] ?? ""), request.body));
    return name === "stop" ? { ...answer, afterwards: () => parts.serving?.stop() } : answer;
  } catch (error) {
    if (!(error instanceof VaultError)) return failure(500, "internal failure of the sandbox");
    return failure(error.code === "invalid-input" ? 400 : 500, error.message, error.facts.hint);
  }
}

const actions: Record<string, (parts: HandlerParts, vault: string, body: string) => object> = {
  "GET ready": ({ serving }) => ({ ...serving?.ready() }),
  "GET audit": ({ sandbox }) => ({ items: [...sandbox.audit()] }) satisfies AuditDocument,
  "POST stop": ({ serving }) =>
    ({ stopped: serving?.ready().baseUrl ?? "" }) satisfies StopDocument,
  "POST reset": ({ sandbox, faults, serving }) => {
    faults.clear();
    sandbox.reset();
    serving?.renewReadyFile();
    return { vaults: sandbox.vaults().length } satisfies ResetDocument;
  },
  "POST lock": ({ sandbox }, vault) => shown(sandbox.lock(vault)),
  "POST unlock": ({ sandbox }, vault) => shown(sandbox.unlock(vault)),
  // All are checked before anything is cleared.
  "POST fault": ({ faults }, _, body) => {
    const given = parsed(body) as { clear?: unknown; faults?: unknown } | null | undefined;
    if (!Array.isArray(given?.faults))
      throw new VaultError("invalid-input", 'the body must be {"faults":[…],"clear":BOOLEAN}');
    const rules = given.faults.map(String).map(parseFault);
    if (given.clear === true) faults.clear();
    faults.add(rules);
    return { armed: faults.armed } satisfies FaultDocument;
  },
};

/** What is not secret of a vault. */
function shown(vault: VaultState): LockDocument {
  const { pending, expiryDate } = vault;
  const iso = (time: number): string => new Date(time).toISOString();
  return {
    uuid: vault.uuid,
    label: vault.label,
    kind: vault.kind,
    status: vault.state,
    lockReason: vault.lockReason,
    exchange: pending && {
      operation: pending.operation,
      externalRef: pending.externalRef,
      tokenExpiry: iso(pending.expiresAt),
    },
    unackedStarts: vault.unackedStarts,
    failedAttempts: vault.failedAccesses,
    usesRemaining: vault.usesRemaining,
    expiryDate: expiryDate === null ? null : iso(expiryDate),
    autoLockDate: iso(vault.autoLockDate),
    dateCreated: iso(vault.dateCreated),
    lastModified: iso(vault.lastModified),
  };
}
