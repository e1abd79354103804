import { formatDuration } from "../duration.ts";
import { machineTrouble } from "../errors.ts";
import { isLoopback } from "../protocol/address.ts";
import type { Head } from "./http.ts";

/** Why a call failed, in a short sentence for a person, with the setting that fixes it. */
interface Cause {
  cause: string;
  hint?: string;
  /** Another try fails likewise until a person has changed something. */
  lasts?: true;
}

/** How far a request came. */
export interface Progress {
  /** When it was written, in milliseconds since the epoch. While this is undefined, surely no byte was. */
  sentAt?: number;
  head?: Head;
}

/** Why there is no whole response, as replies have it. */
export type Failure =
  | ({ type: "not-sent"; untrusted?: true } & Cause)
  | { type: "no-answer"; cause: string; httpStatus: number | undefined };

export interface Proxy {
  url: URL;
  /** The flag, variable or config key that sets it. */
  source: string;
}

export interface Route {
  origin: URL;
  proxy?: Proxy;
  timeoutMs?: number;
}

/** A call whose time is over. */
export class TimedOut extends Error {}

export class Canceled extends Error {}

/** The proxy does not lead to the service; the message is the cause. */
export class ProxyFailure extends Error {}

/** Codes of certificates that are not trusted. */
const untrusted = /^(?:CERT_|DEPTH_ZERO_|ERR_TLS_CERT_|INVALID_|SELF_SIGNED_|UNABLE_TO_)/;

/** Causes by the code of Node, undici or OpenSSL; the first form that matches decides. */
const causes: readonly (readonly [RegExp, (host: string) => string])[] = [
  [/^ECONNREFUSED$/, (host) => `connection refused by ${host}`],
  [/^ENOTFOUND$/, (host) => `no such host ${host}`],
  [/^EAI_AGAIN$/, (host) => `cannot look up ${host}: no name server responds`],
  [
    /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/,
    (host) => `connection closed by ${host} before the request was sent`,
  ],
  [
    /^ERR_SSL_(?:WRONG_VERSION|PACKET_LENGTH|HTTP_REQ|.*PROTOCOL)/,
    (host) => `no TLS connection to ${host}: it does not speak TLS 1.2 or newer`,
  ],
];

/** The failure of a request that came so far. `untrusted`: something answers at the address, with which no TLS connection comes about. */
export function failureOf(error: Error, route: Route, { sentAt, head }: Progress = {}): Failure {
  if (sentAt === undefined) {
    const isTls = untrusted.test(codeOf(error)) || /SSL|TLS|EPROTO/.test(codeOf(error));
    return { type: "not-sent", ...connectCause(error, route), ...(isTls && { untrusted: true }) };
  }
  const cause = exchangeCause(error, route, head);
  return { type: "no-answer", cause, httpStatus: head?.httpStatus };
}

/** The cause of a failure before the request was written. `at`: what is connected to, as it is named. */
export function connectCause(error: Error, route: Route, at = hostOf(route.origin)): Cause {
  const { origin, proxy, timeoutMs = 0 } = route;
  if (error instanceof ProxyFailure) {
    const hint = `check ${proxy?.source} (http://USER:PASSWORD@HOST:PORT, percent-encoded), --base-url, and --ca FILE for the certificate of an https: proxy; if the service can be reached without one: NO_PROXY=${origin.hostname}, and no --proxy`;
    return { cause: error.message, hint };
  }
  if (error instanceof Canceled) return { cause: "canceled before it was sent" };
  const code = codeOf(error);
  if (untrusted.test(code)) {
    // Some proxies intercept TLS with a certificate of their own.
    const whose = proxy === undefined ? "" : `; it may be the proxy's own (${proxy.source})`;
    return {
      cause: `certificate of ${at} is not trusted: ${error.message.split(";", 1)[0]}`,
      hint: `check --base-url and the clock; if you trust its issuer, add the issuer's certificate with --ca FILE (config key ca) or NODE_EXTRA_CA_CERTS${whose}`,
      lasts: true,
    };
  }
  const trouble = machineTrouble[code];
  if (trouble !== undefined) return trouble;
  if (error instanceof TimedOut) {
    const setting = proxy === undefined ? "" : `, ${proxy.source}`;
    const through = proxy === undefined ? "" : ` through the proxy ${hostOf(proxy.url)}`;
    return {
      cause: `no connection to ${at}${through} within ${formatDuration(timeoutMs)}`,
      hint: `check the network${setting} and --base-url, or raise --timeout`,
    };
  }
  const [, cause] = causes.find(([form]) => form.test(code)) ?? [];
  const network =
    proxy !== undefined || isLoopback(origin.hostname)
      ? ""
      : "; if this network needs a proxy, set --proxy or HTTPS_PROXY";
  return {
    cause: cause?.(at) ?? `no connection to ${at}: ${error.message || code}`,
    hint: `check --base-url and that the service is running${network}`,
  };
}

/** The cause of a failure after the request may have been written. `head`: of the answer, if it had arrived. */
function exchangeCause(error: Error, route: Route, head: Head | undefined): string {
  const { origin, timeoutMs = 0 } = route;
  const host = hostOf(origin);
  if (error instanceof Canceled) return "canceled while waiting for the response";
  if (error instanceof TimedOut)
    return `timed out after ${formatDuration(timeoutMs)} waiting for ${host}`;
  const code = codeOf(error);
  if (code === "UND_ERR_RES_EXCEEDED_MAX_SIZE")
    return `the response of ${host} is larger than 64 MiB`;
  if (head !== undefined) return `the response of ${host} was cut short`;
  if (error.name === "HTTPParserError") return `the response of ${host} is not HTTP`;
  if (["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"].includes(code))
    return `connection closed by ${host} before it responded`;
  return `no response from ${host}: ${code === "" ? error.message : code}`;
}

/** The host of an origin as causes name it, always with its port. */
export function hostOf({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port || (protocol === "https:" ? "443" : "80")}`;
}

/** The code of an error; if several addresses were tried, of the first. */
function codeOf(error: Error): string {
  const { code } = error as { code?: unknown };
  if (typeof code === "string") return code;
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  return first instanceof Error ? codeOf(first) : "";
}
