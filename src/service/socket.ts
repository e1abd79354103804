import type { Socket } from "node:net";
import { buildConnector, Client } from "undici";
import { defined } from "../defined.ts";
import { isLoopback } from "../protocol/address.ts";
import type { Proxy, Route } from "./causes.ts";
import { proxyFailure, proxyRefusal } from "./causes.ts";

export interface Trust {
  /** Certificates (PEM) to trust instead of Node's own list. */
  ca?: readonly string[];
  /** Do not check certificates. Only has effect for a service on this machine. */
  unverified?: boolean;
}

/**
 * Connects to a service, with TLS 1.2 or newer for https, and through the proxy of the route: an
 * https service is reached through CONNECT, so that the proxy sees nothing. An abort ends the
 * attempt.
 * @throws ProxyFailure if the proxy does not lead there
 */
export async function openSocket(
  { origin, proxy, forwarded }: Route,
  trust: Trust,
  signal: AbortSignal,
): Promise<Socket> {
  if (proxy === undefined) return await connectTo(origin, trust, signal);
  const toProxy = await connectTo(proxy.url, trust, signal).catch((error: unknown) => {
    throw proxyFailure(error as Error, { origin, proxy });
  });
  if (forwarded) return toProxy;
  await openTunnel(toProxy, { origin, proxy });
  return await connectTo(origin, trust, signal, toProxy);
}

/** Opens a socket to the host of a URL, within a tunnel if one is given. */
async function connectTo(
  { protocol, hostname, host, port }: URL,
  { ca, unverified }: Trust,
  signal: AbortSignal,
  tunnel?: Socket,
): Promise<Socket> {
  const connect = buildConnector({
    ...defined({ ca: ca && [...ca] }),
    minVersion: "TLSv1.2",
    allowH2: false,
    // Set here, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect by itself.
    rejectUnauthorized: !(unverified === true && isLoopback(hostname)),
    // The call that waits for it has a limit for the whole way.
    timeout: 0,
    signal,
  });
  const to = { protocol, hostname: hostname.replace(/^\[(.*)\]$/, "$1"), host, port };
  return await new Promise((resolve, reject) => {
    connect({ ...to, ...defined({ httpSocket: tunnel }) }, (error, socket) =>
      error === null ? resolve(socket) : reject(error),
    );
  });
}

/**
 * Asks a proxy for a tunnel (CONNECT) to a service, which then is the socket itself.
 * @throws ProxyFailure if it does not give one
 */
async function openTunnel(socket: Socket, way: { origin: URL; proxy: Proxy }): Promise<void> {
  const { origin, proxy } = way;
  const target = `${origin.hostname}:${origin.port || "443"}`;
  const client = new Client(proxy.url.origin, {
    connect: (_, connected) => queueMicrotask(() => connected(null, socket)),
    headersTimeout: 0,
  });
  const status = await new Promise<number>((resolve, reject) => {
    client.dispatch(
      {
        method: "CONNECT",
        path: target,
        headers: { host: target, ...proxyAuthorization(proxy) },
      },
      {
        onRequestStart: () => undefined,
        onRequestUpgrade: (_, httpStatus) => resolve(httpStatus),
        onResponseError: (_, error) => reject(proxyFailure(error, way)),
      },
    );
  });
  if (status >= 200 && status <= 299) return;
  socket.destroy();
  throw proxyRefusal(status, way);
}

/** The header with the credentials of a proxy's URL, if it has any. */
export function proxyAuthorization({ url }: Proxy): Record<string, string> {
  if (url.username === "") return {};
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(pair).toString("base64")}` };
}
