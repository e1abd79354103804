import { VaultError } from "../../errors.ts";
import type { AnyEndpoint } from "../../protocol/endpoints.ts";
import { endpoints, singleEndpoints } from "../../protocol/endpoints.ts";
import { parseJson } from "../../protocol/json.ts";
import type { ControlParts } from "../control/control.ts";
import { control } from "../control/control.ts";
import { after, before, serverError } from "../faults/effects.ts";
import type { Call } from "../model/call.ts";
import type { SandboxRequest, SandboxResponse } from "../model/outcome.ts";
import { refusal, write } from "../model/outcome.ts";

type Route =
  | { type: "vault"; endpoint: AnyEndpoint; uuid: string }
  | { type: "control"; path: string }
  /** An endpoint of the service, called with another method. */
  | { type: "method"; allow: string }
  | { type: "unknown" };

/** Finds the route of a request, ignoring its query. */
function findRoute(prefix: string, method: string, target: string): Route {
  const path = target.split("?", 1)[0] ?? "";
  if (path === "/sandbox" || path.startsWith("/sandbox/"))
    return { type: "control", path: path.slice("/sandbox".length) };
  if (!path.startsWith(`${prefix}/`)) return { type: "unknown" };
  const [, vault, type, mode, uuid, ...rest] = path.slice(prefix.length).split("/");
  const shape = ["", vault, type, mode, ...(uuid === undefined ? [] : [placeholder, ...rest])].join(
    "/",
  );
  const all: readonly AnyEndpoint[] = [...endpoints, ...singleEndpoints];
  const endpoint = all.find((e) => e.path(placeholder) === shape);
  if (endpoint === undefined) return { type: "unknown" };
  return endpoint.method === method
    ? { type: "vault", endpoint, uuid: decode(uuid ?? "") }
    : { type: "method", allow: endpoint.method };
}

/** Path segment that stands for any uuid. */
const placeholder = "-";

/** Decodes a path segment. One that cannot be decoded stays as it is, and is refused as a uuid later. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

interface HandlerParts extends ControlParts {
  /** Path before `/vault/…`, without a trailing slash. */
  prefix: string;
  /** Delay before each response of a vault endpoint, in milliseconds. */
  latencyMs: number;
  /** Called when a fault has taken effect on a call, before anything of the answer is sent. */
  onFault?: () => void;
}

export type Handler = (request: SandboxRequest) => SandboxResponse;

/** Creates the service as a function of a request, without a socket. It never throws; a state that cannot be saved is HTTP 500. */
export function createHandler(parts: HandlerParts): Handler {
  const { random } = parts.sandbox;
  return (request) => {
    const route = findRoute(parts.prefix, request.method, request.path);
    if (route.type === "control") return control(parts, request, route.path);
    if (route.type === "unknown")
      return write(refusal({ random }, 404, "NO-SUCH-ENDPOINT", [{ message: "no such endpoint" }]));
    if (route.type === "method") {
      const wrong = refusal({ random }, 405, "METHOD", [
        { message: `the method must be ${route.allow}` },
      ]);
      return write({ ...wrong, headers: { allow: route.allow } });
    }
    const call: Call = {
      ...route,
      headers: request.headers,
      body: parse(request.body),
      remoteAddress: request.remoteAddress,
      target: `${request.method} ${request.path.split("?", 1)[0]}`,
    };
    const answer = answerCall(parts, call);
    return parts.latencyMs === 0
      ? answer
      : { ...answer, delayMs: (answer.delayMs ?? 0) + parts.latencyMs };
  };
}

function answerCall(parts: HandlerParts, call: Call): SandboxResponse {
  const { sandbox, faults } = parts;
  const logged = sandbox.received(call);
  const fault = faults.take({ ...call.endpoint, uuid: call.uuid });
  const instead = before(fault, sandbox.random);
  if (instead !== undefined) {
    parts.onFault?.();
    return instead;
  }
  logged.processed = true;
  try {
    const outcome = sandbox.call(call);
    logged.status = outcome.status;
    if (fault !== undefined) parts.onFault?.();
    return after(fault, outcome, sandbox.random);
  } catch (error) {
    logged.status = 500;
    const reason = error instanceof VaultError ? error.message : "internal failure of the sandbox";
    const failure = serverError(500, sandbox.random);
    return write({ ...failure, body: { ...failure.body, reason } });
  }
}

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
