import { VaultError } from "../errors.ts";
import { endpoints, type Endpoint } from "../protocol/endpoints.ts";
import { parseJson } from "../protocol/json.ts";
import { defaults } from "../protocol/limits.ts";
import type { Call } from "./call.ts";
import { after, before, Faults } from "./faults.ts";
import type { Outcome, SandboxRequest } from "./outcome.ts";
import { refusal, serverError } from "./outcome.ts";
import type { Sandbox } from "./sandbox.ts";

export interface HandlerSettings {
  /** Path before `/vault/…`; default `/vaultsvc/v1-2`. */
  prefix?: string;
  /** Delay before each response of a vault endpoint, in milliseconds. */
  latencyMs?: number | undefined;
  /** Called when a fault has taken effect on a call, before anything of the answer is sent. */
  onFault?: () => void;
}

export type Handler = (request: SandboxRequest) => Outcome;

/** Creates the service as a function of requests, which never throws: a failed save is HTTP 500. */
export function createHandler(
  sandbox: Sandbox,
  faults = new Faults(),
  { prefix = defaults.apiPrefix, latencyMs = 0, onFault }: HandlerSettings = {},
): Handler {
  const start = `${prefix.replace(/\/+$/, "")}/`;
  return ({ method, path: withQuery, headers, body: text, remoteAddress }) => {
    const path = withQuery.split("?", 1)[0] ?? "";
    const found = path.startsWith(start) ? findEndpoint(path.slice(start.length - 1)) : undefined;
    if (found === undefined)
      return refusal(404, "NO-SUCH-ENDPOINT", [{ message: "no such endpoint" }]);
    const { endpoint, uuid } = found;
    if (endpoint.method !== method) {
      const message = `the method must be ${endpoint.method}`;
      return refusal(405, "METHOD", [{ message }], { headers: { allow: endpoint.method } });
    }
    const target = `${method} ${path}`;
    const call = { endpoint, uuid, headers, body: parsed(text), remoteAddress, target };
    const answer = answerCall(sandbox, faults, call, onFault);
    return latencyMs === 0 ? answer : { ...answer, delayMs: (answer.delayMs ?? 0) + latencyMs };
  };
}

/** Path segment that stands for any uuid. */
const placeholder = "-";

function findEndpoint(path: string): { endpoint: Endpoint; uuid: string } | undefined {
  const segments = path.split("/");
  const shape = segments.map((segment, at) => (at === 4 ? placeholder : segment)).join("/");
  const endpoint = endpoints.find((each) => each.path(placeholder) === shape);
  return endpoint && { endpoint, uuid: decoded(segments[4] ?? "") };
}

/** Decodes a path segment. One that cannot be decoded stays, and is refused as a uuid later. */
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

function answerCall(sandbox: Sandbox, faults: Faults, call: Call, onFault?: () => void): Outcome {
  const logged = sandbox.received(call);
  const fault = faults.take({ ...call.endpoint, uuid: call.uuid });
  const instead = before(fault);
  if (instead !== undefined) {
    onFault?.();
    return instead;
  }
  logged.processed = true;
  try {
    const outcome = sandbox.call(call);
    logged.status = outcome.status;
    if (fault !== undefined) onFault?.();
    return after(fault, outcome);
  } catch (error) {
    logged.status = 500;
    const reason = error instanceof VaultError ? error.message : "internal failure of the sandbox";
    return serverError(500, { reason });
  }
}
