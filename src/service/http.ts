import { attempt } from "../attempt.ts";
import { defined } from "../defined.ts";
import { VaultError } from "../errors.ts";
import type { Call, ProbeCall, Reply } from "../exchange/ports.ts";
import { findErrorUuid, object } from "../protocol/answers.ts";
import type { Endpoint } from "../protocol/endpoints.ts";
import { findEndpoint, isOnline, noVault, singleEndpoint } from "../protocol/endpoints.ts";
import { parseJson } from "../protocol/json.ts";
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

/** Names, in lower case, of fields whose value is secret everywhere in requests and responses, bodies and headers. */
const secretFields: ReadonlySet<string> = new Set([
  "apikey",
  "encrypteddata",
  "payload",
  "hashedpin",
  "token",
  "content",
  "authorization",
  "x-api-key",
]);

/** Names of fields that are secret only inside a `creditCard`. */
const secretCardFields: ReadonlySet<string> = new Set(["number", "name"]);

/**
 * A deep copy of a JSON value in which the mark of the redactor replaces the value of every secret field. `learn` is told each of these
 * values; a cardholder's name also in capitals, as on a card. Secrets inside other text, like a message of the service, are left to the redactor.
 */
export function maskSecrets(
  value: unknown,
  learn: (secret: string) => void = () => {},
  inCard = false,
): unknown {
  if (Array.isArray(value)) return value.map((item) => maskSecrets(item, learn, inCard));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]: [string, unknown]) => {
    const name = key.toLowerCase();
    const masked = maskSecrets(inner, learn, inCard || name === "creditcard");
    if (!secretFields.has(name) && !(inCard && secretCardFields.has(name))) return [key, masked];
    if (typeof inner === "string" || typeof inner === "number") learn(String(inner));
    if (inCard && name === "name" && typeof inner === "string") learn(inner.toUpperCase());
    return [key, inner === null ? null : "«redacted»"];
  });
  return Object.fromEntries(entries) as unknown;
}

/** The path that all endpoints have in front, without a final slash. */
export const pathOf = (service: string): string => new URL(service).pathname.replace(/\/$/, "");

/** Status and headers of a final response. Header names are in lower case. */
export interface Head {
  httpStatus: number;
  headers: Record<string, string | string[] | undefined>;
}

export interface WholeResponse extends Head {
  body: Uint8Array;
}

/**
 * Classifies a whole response. A JSON object is an answer whatever its status, except that a 5xx
 * says nothing about what was done: a proxy may have sent it after the service processed the call.
 * A 429 is an answer without a JSON body too, because gateways send a page with it; so are a 404
 * and a 405, which whatever stands at a wrong address sends.
 */
export function replyOf(response: WholeResponse, host: string): Reply {
  const { httpStatus, headers } = response;
  const body = readJson(response.body) ?? ([404, 405, 429].includes(httpStatus) ? {} : undefined);
  const retryAfter = seconds(retryAfterIn(headers)) ?? seconds(body?.["retryAfter"]);
  const answer = body === undefined ? undefined : { httpStatus, body, retryAfter };
  if (answer !== undefined && httpStatus < 500) return { type: "answer", answer };
  const cause = `HTTP ${httpStatus} from ${host}${whatIn(response, body)}`;
  return { type: "no-answer", cause, httpStatus, answer, isWhole: true };
}

function whatIn(
  { httpStatus, headers, body: bytes }: WholeResponse,
  body: Record<string, unknown> | undefined,
): string {
  const errorUuid = findErrorUuid(body);
  if (body !== undefined) return errorUuid === undefined ? "" : `, error ${errorUuid}`;
  if (httpStatus >= 300 && httpStatus < 400) return ", a redirect, which is not followed";
  if (bytes.length === 0) return ", empty";
  const contentType = first(headers["content-type"])?.split(";")[0]?.trim().toLowerCase();
  return contentType === "text/html" ? ", an HTML page" : ", not JSON";
}

/** Parses a JSON object in valid UTF-8 that is not nested too deeply; undefined for anything else. */
const readJson = (bytes: Uint8Array): Record<string, unknown> | undefined =>
  object(attempt(() => parseJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes))));

/** `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date, by the clock of whoever sent it, or else from now. */
function retryAfterIn(headers: WholeResponse["headers"]): unknown {
  const value = first(headers["retry-after"]);
  const wait = httpDate(value) - (httpDate(first(headers["date"])) || Date.now());
  return Number.isNaN(wait) ? value : Math.max(0, Math.ceil(wait / 1000));
}

/** Of the form with a weekday alone: `Date.parse` takes "tomorrow 5", too. */
const httpDate = (value = ""): number => (/^[A-Z][a-z]+,? /.test(value) ? Date.parse(value) : NaN);

/** Checks a number of seconds, from a header or the body. */
function seconds(value: unknown): number | undefined {
  const given = typeof value === "string" && /^ *\d+ *$/.test(value) ? Number(value) : value;
  return typeof given === "number" && Number.isSafeInteger(given) && given >= 0 ? given : undefined;
}

const first = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;
