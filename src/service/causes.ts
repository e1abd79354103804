/** Why a call failed, in a short sentence for a person, with the setting that mends it. */
export interface Cause {
  cause: string;
  hint?: string;
}

/** The largest answer that is read. The interface shows no limit; contents are strings of some kB. */
export const answerLimit = { bytes: 8 * 1024 * 1024, text: "8 MiB" } as const;

const checkAddress = "check --base-url and that the service is running";
const trust = "if you trust it, name its certificate in NODE_EXTRA_CA_CERTS";

const untrusted: Record<string, string> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "self-signed certificate",
  SELF_SIGNED_CERT_IN_CHAIN: "self-signed certificate in its chain",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its issuer is unknown",
  UNABLE_TO_GET_ISSUER_CERT: "its issuer is unknown",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its issuer is unknown",
  CERT_HAS_EXPIRED: "it has expired",
  CERT_NOT_YET_VALID: "it is not valid yet",
  CERT_REVOKED: "it was revoked",
};

/** A failure before the request was written: no connection came about. */
export function connectCause(error: Error, origin: URL): Cause {
  const { host, hostname } = named(origin);
  const code = codeOf(error);
  const reason = untrusted[code];
  if (reason !== undefined) return { cause: `certificate of ${host} is not trusted: ${reason}`, hint: trust };
  switch (code) {
    case "ECONNREFUSED":
      return { cause: `connection refused by ${host}`, hint: checkAddress };
    case "ENOTFOUND":
      return { cause: `no such host ${hostname}`, hint: "check --base-url" };
    case "EAI_AGAIN":
      return { cause: `the name ${hostname} cannot be looked up: no name server answers`, hint: "check the network and --base-url" };
    case "ENETUNREACH":
    case "EHOSTUNREACH":
    case "EADDRNOTAVAIL":
      return { cause: `no way to ${host}: the network is unreachable`, hint: "check the network and --base-url" };
    case "ETIMEDOUT":
    case "UND_ERR_CONNECT_TIMEOUT":
      return { cause: `no connection to ${host}: it does not respond`, hint: "check the network and --base-url" };
    case "ECONNRESET":
    case "EPIPE":
    case "UND_ERR_SOCKET":
      return { cause: `connection closed by ${host} before the request was sent`, hint: checkAddress };
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return { cause: `certificate of ${host} is not trusted: it is for another name`, hint: "check the host name in --base-url" };
    case "UND_ERR_DESTROYED":
    case "UND_ERR_CLOSED":
      return { cause: "given up before it was sent" };
    case "UND_ERR_INVALID_ARG":
      return { cause: `the request cannot be written: ${error.message}`, hint: "check --api-key, --app-uuid and --jwt" };
    default:
      if (/SSL|TLS|EPROTO/.test(code)) {
        return { cause: `no TLS connection to ${host}: ${code}`, hint: "check --base-url: does the service speak https there?" };
      }
      return { cause: `no connection to ${host}: ${code === "" ? error.message : code}`, hint: checkAddress };
  }
}

/** A failure after the request may have been written. `answering`: the head of an answer had arrived. */
export function exchangeCause(error: Error, origin: URL, answering: boolean): string {
  const { host } = named(origin);
  const code = codeOf(error);
  if (code === "UND_ERR_RES_EXCEEDED_MAX_SIZE") return `answer larger than ${answerLimit.text}`;
  if (code === "UND_ERR_HEADERS_OVERFLOW") return `answer of ${host} with headers too large`;
  if (code === "UND_ERR_DESTROYED") return "given up while waiting for the answer";
  if (answering) return `answer of ${host} cut short`;
  if (error.name === "HTTPParserError") return `answer of ${host} is not HTTP`;
  if (code === "ECONNRESET" || code === "EPIPE") return `connection reset by ${host} before it answered`;
  if (code === "UND_ERR_SOCKET") return `connection closed by ${host} before it answered`;
  return `no answer from ${host}: ${code === "" ? error.message : code}`;
}

/** How the origin is written in causes: the port always, so that nobody has to guess it. */
export function named(origin: URL): { host: string; hostname: string } {
  const port = origin.port === "" ? (origin.protocol === "https:" ? "443" : "80") : origin.port;
  return { host: `${origin.hostname}:${port}`, hostname: origin.hostname };
}

/** Milliseconds as the settings write a duration. */
export function duration(milliseconds: number): string {
  return milliseconds % 1000 === 0 ? `${milliseconds / 1000}s` : `${milliseconds}ms`;
}

/** Where several addresses were tried, the code of the first. */
function codeOf(error: Error): string {
  const { code } = error as { code?: unknown };
  if (typeof code === "string") return code;
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  return first instanceof Error ? codeOf(first) : "";
}
