import Client from "undici/lib/dispatcher/client.js";
import buildConnector from "undici/lib/core/connect.js";
import { TLSSocket } from "node:tls";
import { connectCause, duration, exchangeCause, named } from "./causes.ts";
import { originOf } from "./request.ts";

export interface ProbeOptions {
  baseUrl: string;
  apiPrefix: string;
  timeoutMs: number;
  version: string;
  /** Certificates (PEM) to trust in place of Node's own list. */
  ca?: readonly string[];
}

/** What a service shows to anybody. Times are milliseconds since the epoch. */
export type Probe =
  | {
      reached: true;
      httpStatus: number;
      /** Its `Date` header: whole seconds. */
      date: number | null;
      sentAt: number;
      receivedAt: number;
      /** Null without TLS. */
      tls: { protocol: string; validTo: number; issuer: string } | null;
    }
  | {
      reached: false;
      cause: string;
      hint: string | null;
      /** The TLS handshake failed: the service, or something in its place, was there. */
      untrusted: boolean;
    };

/**
 * One HEAD request to the service's prefix, without credentials and about no vault: any HTTP answer will do. It uses no
 * place under the rate limit. Never rejects.
 */
export function probe(options: ProbeOptions, signal: AbortSignal): Promise<Probe> {
  const origin = originOf(options.baseUrl);
  const connector = buildConnector({
    allowH2: false,
    timeout: options.timeoutMs,
    ...(options.ca === undefined ? {} : { ca: [...options.ca] }),
  });
  let tls: Extract<Probe, { reached: true }>["tls"] = null;
  const client = new Client(origin.origin, {
    connect: (given, callback) =>
      void connector(given, (...result) => {
        const [, socket] = result;
        if (socket instanceof TLSSocket) tls = describeTls(socket);
        callback(...result);
      }),
    allowH2: false,
    useMilo: false,
    headersTimeout: options.timeoutMs,
    bodyTimeout: options.timeoutMs,
  });
  const path = `${origin.pathname}/${options.apiPrefix}`.replaceAll(/\/{2,}/g, "/").replace(/\/$/, "");
  return new Promise<Probe>((resolve) => {
    let sentAt = 0;
    const settle = (result: Probe): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      client.destroy(() => undefined);
      resolve(result);
    };
    const failed = (cause: string, hint?: string, untrusted = false): void =>
      settle({ reached: false, cause, hint: hint ?? null, untrusted });
    const { host } = named(origin);
    const onAbort = (): void => failed("given up");
    const timer = setTimeout(
      () => failed(`no answer from ${host} within ${duration(options.timeoutMs)}`, "check the network and --base-url, or raise --timeout"),
      Math.min(options.timeoutMs, 2 ** 31 - 1),
    );
    signal.addEventListener("abort", onAbort, { once: true });
    client.dispatch(
      { method: "HEAD", path: path === "" ? "/" : path, headers: { "user-agent": `vault/${options.version}` } },
      {
        onRequestStart: () => {
          sentAt = Date.now();
        },
        onResponseStart: (_, httpStatus, headers) => {
          const date = typeof headers["date"] === "string" ? Date.parse(headers["date"]) : Number.NaN;
          settle({ reached: true, httpStatus, date: Number.isNaN(date) ? null : date, sentAt, receivedAt: Date.now(), tls });
        },
        onResponseData: () => undefined,
        onResponseEnd: () => undefined,
        onResponseError: (_, error) => {
          if (sentAt > 0) return failed(exchangeCause(error, origin, false));
          const { cause, hint } = connectCause(error, origin);
          const { code = "" } = error as { code?: string };
          failed(cause, hint, /CERT|SELF_SIGNED|UNABLE_TO|SSL|TLS|EPROTO/.test(code));
        },
      },
    );
  });
}

function describeTls(socket: TLSSocket): { protocol: string; validTo: number; issuer: string } {
  const { valid_to: validTo, issuer } = socket.getPeerCertificate();
  const name = issuer.O ?? issuer.CN ?? "unknown";
  return {
    protocol: socket.getProtocol() ?? "unknown",
    validTo: Date.parse(validTo),
    issuer: Array.isArray(name) ? name.join(", ") : name,
  };
}
