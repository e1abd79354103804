import { VaultError } from "../errors.ts";
import type { EndCall, StartCall } from "../exchange/ports.ts";
import type { Endpoint, Step } from "../interface/endpoints.ts";
import { findEndpoint, isOnline } from "../interface/endpoints.ts";
import type { Application } from "../interface/requests.ts";

/** Which service, and as whom. */
export interface Target {
  /** May have a path of its own; the prefix and the endpoint's path come behind it. */
  baseUrl: string;
  apiPrefix: string;
  application: Application;
  /** Sent as a bearer token with every call, when given. */
  jwt?: string;
  /** Of this program, for the user-agent. */
  version: string;
}

/** A request as it is sent (and, with its secrets masked, as it is traced). */
export interface HttpRequest {
  method: Endpoint["method"];
  path: string;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

/** The origin of a base URL. Raises `usage` for what is not an http or https URL. */
export function originOf(baseUrl: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  throw new VaultError("usage", `the base URL must be an http or https address: ${baseUrl}`, {
    hint: "give one like --base-url https://vault.example.com (VAULTSVC_BASE_URL, config key baseUrl)",
  });
}

/** Start endpoints take the application in the body (specification, section 5.1). */
export function startRequest(target: Target, call: StartCall): HttpRequest {
  const endpoint = endpointOf(call, "start");
  const { encryptedData, payload, hashedPin } = call.credentials;
  const online = isOnline(call.kind);
  return {
    ...address(target, endpoint, call.uuid),
    headers: commonHeaders(target),
    body: {
      application: { apiKey: target.application.apiKey, uuid: target.application.uuid },
      ...(online && call.device !== undefined ? { device: call.device } : {}),
      externalRef: call.externalRef,
      ...(call.operation === "update" ? { newVault: call.newVault } : {}),
      vault: { credentials: { encryptedData, payload, ...(online && hashedPin !== undefined ? { hashedPin } : {}) } },
    },
  };
}

/** End endpoints take the application in two headers (section 5.2). */
export function endRequest(target: Target, call: EndCall): HttpRequest {
  return {
    ...address(target, endpointOf(call, "end"), call.uuid),
    headers: {
      ...commonHeaders(target),
      "x-application-uuid": target.application.uuid,
      "x-api-key": target.application.apiKey,
    },
    body: { token: call.token },
  };
}

function endpointOf(call: StartCall | EndCall, step: Step): Endpoint {
  const endpoint = findEndpoint(call.kind, call.operation, step);
  if (endpoint !== undefined) return endpoint;
  throw new VaultError("invalid-input", `the service has no ${call.operation} of a ${call.kind} vault: nothing was sent`);
}

function address(target: Target, endpoint: Endpoint, uuid: string): Pick<HttpRequest, "method" | "path"> {
  const url = originOf(target.baseUrl);
  // Assigned rather than joined as text, so that what has no place in a path is percent-encoded.
  url.pathname = `${url.pathname}/${target.apiPrefix}`.replaceAll(/\/{2,}/g, "/").replace(/\/$/, "");
  const prefix = url.pathname === "/" ? "" : url.pathname;
  return { method: endpoint.method, path: `${prefix}${endpoint.path(uuid)}` };
}

function commonHeaders(target: Target): Record<string, string> {
  return {
    accept: "application/json",
    "content-type": "application/json",
    "user-agent": `vault/${target.version}`,
    ...(target.jwt === undefined ? {} : { authorization: `Bearer ${target.jwt}` }),
  };
}
