import { defined } from "../defined.ts";
import { VaultError } from "../errors.ts";
import type { Call, ProbeCall } from "../exchange/ports.ts";
import type { Endpoint } from "../protocol/endpoints.ts";
import { findEndpoint, isOnline, noVault, singleEndpoint } from "../protocol/endpoints.ts";
import type { Application } from "../protocol/requests.ts";

/** The service, and the application that calls it. */
export interface Target {
  /** The service's name: its URL with the path that all endpoints follow, without a final slash. */
  service: string;
  application: Application;
  /** The bearer token of the application, if it has one, which is sent with every call about an offline vault. */
  token?: { current(): string | undefined } | undefined;
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

/** The request of a call (docs/interface.md, Requests). A probe is an end call about no vault. */
export function requestOf(target: Target, call: Call): HttpRequest {
  if (call.step === "probe") {
    const about = { operation: "get", uuid: noVault, token: noVault } as const;
    return requestOf(target, { ...call, ...about, step: "end" });
  }
  const endpoint = endpointOf(call);
  const body = bodyOf(target, call);
  const jwt = isOnline(call.kind) ? undefined : target.token?.current();
  return {
    method: endpoint.method,
    path: `${pathOf(target.service)}${endpoint.path("uuid" in call ? call.uuid : "")}`,
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
    ...(call.operation === "update" && { newVault: call.newVault }),
    vault: { credentials: defined({ encryptedData, payload, hashedPin: pin }) },
  };
}

function endpointOf(call: Exclude<Call, ProbeCall>): Endpoint {
  if (call.step !== "start" && call.step !== "end") return singleEndpoint(call.kind, call.step);
  if (call.operation === "delete") return singleEndpoint(call.kind, call.operation);
  const endpoint = findEndpoint(call.kind, call.operation, call.step);
  if (endpoint !== undefined) return endpoint;
  throw new VaultError(
    "invalid-input",
    `the service has no ${call.operation} of a ${call.kind} vault; nothing was sent`,
  );
}

/** The path that all endpoints have in front, without a final slash. */
export const pathOf = (service: string): string => new URL(service).pathname.replace(/\/$/, "");
