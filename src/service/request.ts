import { defined } from "../defined.ts";
import { VaultError } from "../errors.ts";
import type { Call, EndCall, ProbeCall, StartCall } from "../exchange/ports.ts";
import type { Endpoint } from "../protocol/endpoints.ts";
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
  method: Endpoint["method"] | "HEAD";
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

/** The request of a call (docs/interface.md, Requests). A probe is an end call about no vault. */
export function requestOf(target: Target, call: Call): HttpRequest {
  if (call.step === "probe") {
    const about = { operation: "get", uuid: noVault, token: noVault } as const;
    return requestOf(target, { ...call, ...about, step: "end" });
  }
  const endpoint =
    call.step === "start" || call.step === "end"
      ? endpointOf(call)
      : singleEndpoint(call.kind, call.step);
  const body = bodyOf(target, call);
  const jwt = isOnline(call.kind) ? undefined : target.jwt?.();
  return {
    method: endpoint.method,
    path: `${pathBefore(target)}${endpoint.path("uuid" in call ? call.uuid : "")}`,
    headers: defined({
      accept: "application/json",
      "content-type": body && "application/json",
      "user-agent": `vault/${target.version}`,
      authorization: jwt && `Bearer ${jwt}`,
      ...(endpoint.applicationIn === "headers" && {
        "x-application-uuid": target.application.uuid,
        "x-api-key": target.application.apiKey,
      }),
    }),
    body,
  };
}

/** A start, and what is like one, names the application, the device and a reference. */
function bodyOf(
  { application: { apiKey, uuid } }: Target,
  call: Exclude<Call, ProbeCall>,
): HttpRequest["body"] {
  if (call.step === "info") return undefined;
  if (call.step === "end") return { token: call.token };
  const { kind, externalRef } = call;
  const device = isOnline(kind) ? call.device : undefined;
  const opening = defined({ application: { apiKey, uuid }, device, externalRef });
  if (call.step === "create") return { ...opening, metadata: call.metadata, vault: call.vault };
  const { encryptedData, payload, hashedPin } = call.credentials;
  const pin = isOnline(kind) ? hashedPin : undefined;
  return {
    ...opening,
    ...(call.step === "start" && call.operation === "update" && { newVault: call.newVault }),
    vault: { credentials: defined({ encryptedData, payload, hashedPin: pin }) },
  };
}

function endpointOf(call: StartCall | EndCall): Endpoint {
  const endpoint = findEndpoint(call.kind, call.operation, call.step);
  if (endpoint !== undefined) return endpoint;
  throw new VaultError(
    "invalid-input",
    `the service has no ${call.operation} of a ${call.kind} vault; nothing was sent`,
  );
}

/** The path that all endpoints have in front: that of the base URL and the prefix, without a final slash. */
export function pathBefore({ baseUrl, apiPrefix }: Pick<Target, "apiPrefix" | "baseUrl">): string {
  const url = originOf(baseUrl);
  // Assigning `pathname` percent-encodes what a path cannot contain.
  url.pathname = `${url.pathname}/${apiPrefix}`.replaceAll(/\/{2,}/g, "/").replace(/\/$/, "");
  return url.pathname === "/" ? "" : url.pathname;
}
