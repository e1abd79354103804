import { formatDuration } from "../duration.ts";
import { isOutOfFiles, outOfFiles } from "../errors.ts";
import { isLoopback } from "../protocol/address.ts";
import type { Head } from "./reply.ts";

/** Why a call failed, in a short sentence for a person, with the setting that fixes it. */
export interface Cause {
  cause: string;
  hint?: string;
  /** Another try fails likewise until a person has changed something. */
  lasts?: true;
}

/**
 * Size limit of an answer. The interface names none; in memory an answer takes about ten times its
 * size.
 */
export const answerLimit = { bytes: 64 * 1024 * 1024, text: "64 MiB" } as const;

/** A proxy on the way to the service. */
export interface Proxy {
  url: URL;
  /** The flag, variable or config key that sets it. */
  source: string;
}

/** The route that requests take. */
export interface Route {
  origin: URL;
  proxy?: Proxy;
  /** The proxy forwards each request, rather than a connection. */
  forwarded: boolean;
}

/** Whether an error says that the answer is larger than `answerLimit`. */
export const isTooLarge = (error: Error): boolean =>
  codeOf(error) === "UND_ERR_RES_EXCEEDED_MAX_SIZE";

/** The error of a connection that closed before it could be used. */
export const connectionClosed = (): Error =>
  Object.assign(new Error("closed"), { code: "ECONNRESET" });

/** A call that was given up: after its time, in milliseconds, or canceled. */
export class GivenUp extends Error {
  readonly timeoutMs: number | undefined;

  constructor(timeoutMs: number | undefined) {
    super("given up");
    this.timeoutMs = timeoutMs;
  }
}

/** A failure of the proxy. */
export class ProxyFailure extends Error {
  readonly reason: Cause;

  constructor(reason: Cause) {
    super(reason.cause);
    this.reason = reason;
  }
}

const checkAddress = "check --base-url and that the service is running";
const trust =
  "if you trust its issuer, add the issuer's certificate with --ca FILE (config key ca) or NODE_EXTRA_CA_CERTS";
const otherProxy = "if this network needs a proxy, set --proxy or HTTPS_PROXY";

const untrusted: Record<string, string> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "self-signed certificate",
  SELF_SIGNED_CERT_IN_CHAIN: "self-signed certificate in its chain",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its issuer is unknown",
  UNABLE_TO_GET_ISSUER_CERT: "its issuer is unknown",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its issuer is unknown",
  CERT_UNTRUSTED: "its issuer is unknown",
  CERT_SIGNATURE_FAILURE: "it was not signed by the trusted issuer of that name",
  INVALID_CA: "its issuer is not a certificate authority",
  INVALID_PURPOSE: "it is not a server certificate",
  CERT_HAS_EXPIRED: "it has expired",
  CERT_NOT_YET_VALID: "it is not valid yet",
  CERT_REVOKED: "it was revoked",
};

/** The cause of a failure before the request was written. `at`: what is connected to, as it is named. */
export function connectCause(
  error: Error,
  { origin, proxy }: Pick<Route, "origin" | "proxy">,
  at = named(origin),
): Cause {
  if (error instanceof ProxyFailure) return error.reason;
  const { host, hostname } = at;
  if (error instanceof GivenUp) return givenUpCause(error, host, proxy);
  const code = codeOf(error);
  const isForAnother = code === "ERR_TLS_CERT_ALTNAME_INVALID";
  const reason = isForAnother ? `it is for ${namesOf(error)}` : untrusted[code];
  if (reason !== undefined) {
    // Some proxies intercept TLS with a certificate of their own.
    const whose =
      proxy === undefined || isForAnother ? "" : `; it may be the proxy's own (${proxy.source})`;
    return {
      cause: `certificate of ${host} is not trusted: ${reason}`,
      hint: `${trustHint(code)}${whose}`,
      lasts: true,
    };
  }
  if (isOutOfFiles(code)) return outOfFiles;
  const network = proxy !== undefined || isLoopback(origin.hostname) ? "" : `; ${otherProxy}`;
  const checkNetwork = `check the network and --base-url${network}`;
  const noRoute = [`no route to ${host}: the network is unreachable`, checkNetwork] as const;
  const silent = [`no connection to ${host}: it does not respond`, checkNetwork] as const;
  const closed = [
    `connection closed by ${host} before the request was sent`,
    checkAddress,
  ] as const;
  const noTls = `no TLS connection to ${host}`;
  const plain = [
    `${noTls}: the server there does not speak TLS`,
    "check scheme and port in --base-url",
  ] as const;
  const oldTls = [
    `${noTls}: it does not speak TLS 1.2 or newer`,
    "the service must be updated",
  ] as const;
  const causes: Readonly<Record<string, readonly [cause: string, hint: string]>> = {
    ECONNREFUSED: [`connection refused by ${host}`, `${checkAddress}${network}`],
    ENOTFOUND: [`no such host ${hostname}`, `check --base-url${network}`],
    EAI_AGAIN: [`cannot look up ${hostname}: no name server responds`, checkNetwork],
    ENETUNREACH: noRoute,
    EHOSTUNREACH: noRoute,
    EADDRNOTAVAIL: noRoute,
    ETIMEDOUT: silent,
    UND_ERR_CONNECT_TIMEOUT: silent,
    ECONNRESET: closed,
    EPIPE: closed,
    UND_ERR_SOCKET: closed,
    // It names the header, and not its value.
    UND_ERR_INVALID_ARG: [
      `the request cannot be written: ${error.message}`,
      "check --api-key, --app-uuid and --jwt",
    ],
    ERR_SSL_WRONG_VERSION_NUMBER: plain,
    ERR_SSL_PACKET_LENGTH_TOO_LONG: plain,
    ERR_SSL_HTTP_REQUEST: plain,
    ERR_SSL_UNSUPPORTED_PROTOCOL: oldTls,
    ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: oldTls,
  };
  const [cause, hint] =
    causes[code] ??
    (/SSL|TLS|EPROTO/.test(code)
      ? [`${noTls}: ${code}`, "check --base-url; does the service use https there?"]
      : [`no connection to ${host}: ${code === "" ? error.message : code}`, checkAddress]);
  return { cause, hint };
}

function givenUpCause({ timeoutMs }: GivenUp, host: string, proxy: Proxy | undefined): Cause {
  if (timeoutMs === undefined) return { cause: "canceled before it was sent" };
  const [through, setting] =
    proxy === undefined
      ? ["", ""]
      : [` through the proxy ${named(proxy.url).host}`, `, ${proxy.source}`];
  return {
    cause: `no connection to ${host}${through} within ${formatDuration(timeoutMs)}`,
    hint: `check the network${setting} and --base-url, or raise --timeout`,
  };
}

/**
 * The cause of a failure after the request may have been written. `head`: of the answer, if it had
 * arrived.
 */
export function exchangeCause(
  error: Error,
  { origin }: Pick<Route, "origin">,
  head: Head | undefined,
): string {
  const { host } = named(origin);
  if (error instanceof GivenUp)
    return error.timeoutMs === undefined
      ? "canceled while waiting for the response"
      : `timed out after ${formatDuration(error.timeoutMs)} waiting for ${host}`;
  const code = codeOf(error);
  if (isTooLarge(error)) {
    const announced = Number(head?.headers["content-length"]);
    const size =
      announced > answerLimit.bytes ? ` (${(announced / 1024 ** 2).toFixed(1)} MiB)` : "";
    return `the response of ${host} is larger than ${answerLimit.text}${size}`;
  }
  if (code === "UND_ERR_HEADERS_OVERFLOW") return `the response of ${host} has too large headers`;
  if (head !== undefined) return `the response of ${host} was cut short`;
  if (error.name === "HTTPParserError") return `the response of ${host} is not HTTP`;
  if (code === "UND_ERR_SOCKET") return `connection closed by ${host} before it responded`;
  if (code === "ECONNRESET" || code === "EPIPE")
    return `connection reset by ${host} before it responded`;
  return `no response from ${host}: ${code === "" ? error.message : code}`;
}

/** Why the connection to the proxy failed. */
export function proxyFailure(error: Error, way: { origin: URL; proxy: Proxy }): ProxyFailure {
  const { source, url } = way.proxy;
  const at = {
    host: `the proxy ${named(url).host}`,
    hostname: `${url.hostname}, the proxy`,
  };
  const { cause } = connectCause(error, { origin: url }, at);
  const code = codeOf(error);
  const trustFix = code in untrusted ? `${trustHint(code)}; or ` : "";
  return new ProxyFailure({ cause, hint: `${trustFix}${checkProxy(source, way.origin)}` });
}

/** Why the proxy does not connect to the service, from the status of its answer. */
export function proxyRefusal(
  httpStatus: number,
  { origin, proxy: { url, source } }: { origin: URL; proxy: Proxy },
): ProxyFailure {
  const [proxy, service] = [named(url).host, named(origin).host];
  const refused = (what: string, hint: string): ProxyFailure =>
    new ProxyFailure({ cause: `the proxy ${proxy} ${what} (HTTP ${httpStatus})`, hint });
  if (httpStatus === 407) {
    const form = `${url.protocol}//USER:PASSWORD@${proxy}`;
    return url.username === ""
      ? refused("asks for a user name and a password", `set ${source} to ${form}`)
      : refused(
          "refused the user name or the password",
          `check them in ${source}: ${form}, with special characters percent-encoded`,
        );
  }
  const check = checkProxy(source, origin);
  return httpStatus >= 500
    ? refused(`cannot reach ${service}`, `check --base-url; ${check}`)
    : refused(
        `refused a connection to ${service}`,
        `ask the operator of the proxy to allow it; ${check}`,
      );
}

const checkProxy = (source: string, origin: URL): string =>
  `check ${source}; if the service can be reached without a proxy: NO_PROXY=${origin.hostname}${source.startsWith("--") ? `, without ${source}` : ""}`;

function trustHint(code: string): string {
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "check the host name in --base-url";
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID")
    return "check this machine's clock; otherwise the certificate must be renewed";
  return code === "CERT_REVOKED" ? "do not trust it; ask the operator of the service" : trust;
}

/** The first names in the certificate of Node's error. */
function namesOf(error: Error): string {
  const { subjectaltname = "" } = (error as { cert?: { subjectaltname?: string } }).cert ?? {};
  const names = subjectaltname
    .split(", ")
    .flatMap((name) => /^(?:DNS|IP Address):(.+)$/.exec(name)?.[1] ?? []);
  if (names.length === 0) return "another name";
  return `another name (${names.slice(0, 3).join(", ")}${names.length > 3 ? ", …" : ""})`;
}

/** The origin as causes name it, always with its port. */
export function named(origin: URL): { host: string; hostname: string } {
  const port = origin.port === "" ? (origin.protocol === "https:" ? "443" : "80") : origin.port;
  return { host: `${origin.hostname}:${port}`, hostname: origin.hostname };
}

/** The code of an error; if several addresses were tried, of the first. */
function codeOf(error: Error): string {
  const { code } = error as { code?: unknown };
  if (typeof code === "string") return code;
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  return first instanceof Error ? codeOf(first) : "";
}
