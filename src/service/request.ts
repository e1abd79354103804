import { VaultError } from "../errors.ts";
import type { Call, EndCall, StartCall } from "../exchange/ports.ts";
import type { AnyEndpoint, Endpoint, Kind } from "../protocol/endpoints.ts";
import { findEndpoint, isOnline, noVault, singleEndpoint } from "../protocol/endpoints.ts";
import type { Application } from "../protocol/requests.ts";

/** The service, and the application that calls it. */
export interface Target {
  /** May have a path, which the prefix and the endpoint's path follow. */
  baseUrl: string;
  apiPrefix: string;
  application: Application;
  /** The present bearer token, if there is one, which is sent with every call about an offline vault. */
  jwt?: () => string | undefined;
  /** Version of this program, for the user-agent. */
  version: string;
}

/** A request as the client sends it. */
export interface HttpRequest {
  method: AnyEndpoint["method"] | "HEAD";
  path: string;
  headers: Record<string, string>;
  body: Record<string, unknown> | undefined;
}

/**
 * Parses a base URL.
 * @throws `usage` for what is not an http or https URL
 */
export function originOf(baseUrl: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  throw new VaultError("usage", `the base URL must be an http or https address: ${baseUrl}`, {
    hint: "give one like --base-url https://vault.example.com (VAULTSVC_BASE_URL, config key baseUrl)",
  });
}

/**
 * The request of a call (docs/interface.md, Requests). The application is in the body of a start, in
 * two headers of an end call; an extended operation is like a start, info like an end call without
 * a body.
 */
export function requestOf(target: Target, call: Call): HttpRequest {
  const headers = commonHeaders(target, call.kind);
  switch (call.step) {
    case "start":
      return {
        ...address(target, endpointOf(call), call.uuid),
        headers,
        body: {
          ...opening(target, call),
          ...(call.operation === "update" ? { newVault: call.newVault } : {}),
          vault: { credentials: credentialsOf(call) },
        },
      };
    case "end":
      return {
        ...address(target, endpointOf(call), call.uuid),
        headers: { ...headers, ...applicationHeaders(target) },
        body: { token: call.token },
      };
    case "probe":
      return requestOf(target, {
        ...call,
        step: "end",
        operation: "get",
        uuid: noVault,
        token: noVault,
      });
    case "info": {
      const { "content-type": _none, ...rest } = headers;
      return {
        ...address(target, singleEndpoint(call.kind, "info"), call.uuid),
        headers: { ...rest, ...applicationHeaders(target) },
        body: undefined,
      };
    }
    case "delete":
      return {
        ...address(target, singleEndpoint(call.kind, "delete"), call.uuid),
        headers,
        body: { ...opening(target, call), vault: { credentials: credentialsOf(call) } },
      };
    case "create": {
      const { metadata, vault } = call;
      return {
        ...address(target, singleEndpoint(call.kind, "create"), ""),
        headers,
        body: { ...opening(target, call), metadata, vault },
      };
    }
  }
}

/** Application, device and reference: the common part of all bodies but an end call's. */
function opening(
  { application }: Target,
  call: Pick<StartCall, "kind" | "device" | "externalRef">,
): Record<string, unknown> {
  return {
    application: { apiKey: application.apiKey, uuid: application.uuid },
    ...(isOnline(call.kind) && call.device !== undefined ? { device: call.device } : {}),
    externalRef: call.externalRef,
  };
}

function credentialsOf({
  kind,
  credentials,
}: Pick<StartCall, "kind" | "credentials">): Record<string, string> {
  const { encryptedData, payload, hashedPin } = credentials;
  return {
    encryptedData,
    payload,
    ...(isOnline(kind) && hashedPin !== undefined ? { hashedPin } : {}),
  };
}

const applicationHeaders = ({ application }: Target): Record<string, string> => ({
  "x-application-uuid": application.uuid,
  "x-api-key": application.apiKey,
});

function endpointOf(call: StartCall | EndCall): Endpoint {
  const endpoint = findEndpoint(call.kind, call.operation, call.step);
  if (endpoint !== undefined) return endpoint;
  throw new VaultError(
    "invalid-input",
    `the service has no ${call.operation} of a ${call.kind} vault; nothing was sent`,
  );
}

function address(
  target: Target,
  endpoint: AnyEndpoint,
  uuid: string,
): Pick<HttpRequest, "method" | "path"> {
  return { method: endpoint.method, path: `${pathBefore(target)}${endpoint.path(uuid)}` };
}

/** The path that all endpoints have in front: that of the base URL and the prefix, without a final slash. */
export function pathBefore({ baseUrl, apiPrefix }: Pick<Target, "apiPrefix" | "baseUrl">): string {
  const url = originOf(baseUrl);
  // Assigning `pathname` percent-encodes what a path cannot contain.
  url.pathname = `${url.pathname}/${apiPrefix}`.replaceAll(/\/{2,}/g, "/").replace(/\/$/, "");
  return url.pathname === "/" ? "" : url.pathname;
}

function commonHeaders(target: Target, kind: Kind): Record<string, string> {
  const jwt = isOnline(kind) ? undefined : target.jwt?.();
  return {
    accept: "application/json",
    "content-type": "application/json",
    "user-agent": `vault/${target.version}`,
    ...(jwt === undefined ? {} : { authorization: `Bearer ${jwt}` }),
  };
}
