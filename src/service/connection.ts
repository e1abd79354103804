import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Dispatcher } from "undici";
import Client from "undici/lib/dispatcher/client.js";
import buildConnector from "undici/lib/core/connect.js";
import { isLoopback } from "../protocol/address.ts";
import type { Proxy, Route } from "./causes.ts";
import { answerLimit, proxyFailure } from "./causes.ts";
import type { HttpRequest } from "./request.ts";
import { originOf } from "./request.ts";
import type { Connector } from "./tunnel.ts";
import { proxyAuthorization, throughProxy, withoutServerName } from "./tunnel.ts";
import { defined } from "../defined.ts";

export interface ConnectionOptions {
  baseUrl: string;
  /** Certificates (PEM) to trust instead of Node's own list. */
  ca?: readonly string[];
  proxy?: Proxy;
  /** Do not check certificates. Only has effect for a service on this machine. */
  unverified?: boolean;
}

/** What TLS says about the server. */
export interface Peer {
  /** Like `TLSv1.3`. */
  protocol: string;
  /** When its certificate expires, in milliseconds since the epoch. */
  validTo: number;
  /** Issuer of the certificate: the organization, or the common name. */
  issuer: string;
}

/** One HTTP/1.1 connection to the origin of a base URL, opened by the first request and kept for the next. */
export interface Connection {
  route: Route;
  /** Sends a request when the ones before are done, and reports to `handler`. Its path begins with a slash. */
  dispatch(request: Omit<HttpRequest, "body" | "method"> & { method: string; body?: string }, handler: Dispatcher.DispatchHandler): void;
  /** The server of the last connection made; undefined without https. */
  peer(): Peer | undefined;
  /** Ends an attempt to connect, for which undici itself would wait. */
  stopConnecting(): void;
  /** Closes without waiting; requests under way end as abandoned. */
  close(): void;
}

/**
 * Opens the connection to a service, with TLS 1.2 or newer, certificates checked unless `unverified`, and through a proxy if one
 * is given. An https service is reached through CONNECT, so that the proxy sees nothing; for an http one the request carries the
 * whole URL, as proxies expect.
 * @throws `usage` for a base URL that is not an http or https URL
 */
export function openConnection(options: ConnectionOptions): Connection {
  const origin = originOf(options.baseUrl);
  const { proxy } = options;
  const forwarded = proxy !== undefined && origin.protocol === "http:";
  const route: Route = { origin, forwarded, ...defined({ proxy }) };
  let stop: (() => void) | undefined;
  let made: Socket | undefined;
  const connector = connectorOf(options, route);
  const client = new Client(forwarded ? proxy.url.origin : origin.origin, {
    connect: (to, callback) => {
      stop = connector(to, (...result) => {
        stop = undefined;
        made = result[1] ?? made;
        callback(...result);
      });
    },
    ...plainHttp,
    maxResponseSize: answerLimit.bytes,
  });
  return {
    route,
    dispatch({ method, path, headers, body }, handler) {
      const sent = forwarded
        ? { path: `${origin.origin}${path}`, headers: { ...headers, host: origin.host, ...proxyAuthorization(proxy) } }
        : { path, headers };
      client.dispatch({ method, ...sent, ...defined({ body }) }, handler);
    },
    peer: () => (origin.protocol === "https:" && made !== undefined ? peerOf(made as TLSSocket) : undefined),
    stopConnecting: () => stop?.(),
    close() {
      stop?.();
      client.destroy(() => undefined);
    },
  };
}

function peerOf(socket: TLSSocket): Peer | undefined {
  const { valid_to: validTo, issuer } = socket.getPeerCertificate();
  if (validTo === undefined) return undefined;
  const name = [issuer.O, issuer.CN].flat().find((text) => text !== undefined) ?? "unknown";
  return { protocol: socket.getProtocol() ?? "unknown", validTo: Date.parse(validTo), issuer: name };
}

/** No HTTP/2, one request at a time, and no time limits: undici's would limit the silence, not the whole call. */
const plainHttp = { allowH2: false, useMilo: false, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 } as const;

/** The connector for sockets to the service, or to the proxy that forwards requests. */
function connectorOf({ ca, unverified }: ConnectionOptions, { origin, proxy, forwarded }: Route): Connector {
  const to = (hostname: string): Connector => {
    const connect = buildConnector({
      allowH2: false,
      timeout: 0,
      minVersion: "TLSv1.2",
      // Set here, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect by itself.
      rejectUnauthorized: !(unverified === true && isLoopback(hostname)),
      ...defined({ ca: ca && [...ca] }),
    });
    return (options, callback) => {
      const socket: Socket = connect(options, callback);
      return () => socket.destroy(new Error("given up"));
    };
  };
  if (proxy === undefined) return to(origin.hostname);
  const toProxy = to(proxy.url.hostname);
  if (!forwarded) return throughProxy(proxy, plainHttp, toProxy, to(origin.hostname));
  return (options, callback) =>
    toProxy(withoutServerName(options), (error, socket) => {
      if (error === null) callback(null, socket);
      else callback(proxyFailure(error, { origin, proxy }), null);
    });
}
