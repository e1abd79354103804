import type { Socket } from "node:net";
import { buildConnector, Client } from "undici";
import { defined } from "../defined.ts";
import type { Proxy, Route } from "./causes.ts";
import { proxyFailure, proxyRefusal } from "./causes.ts";

type Connected = buildConnector.Callback;

/**
 * Connects to a service, with TLS 1.2 or newer for https, and through the proxy of the route: an
 * https service is reached through CONNECT, so that the proxy sees nothing. An abort ends the
 * attempt. The error is a ProxyFailure if the proxy does not lead there.
 */
export function openSocket(
  { origin, proxy, forwarded }: Route,
  /** Certificates (PEM) to trust instead of Node's own list. */
  ca: readonly string[] | undefined,
  signal: AbortSignal,
  connected: Connected,
): void {
  /** Connects to the host of a URL, within a tunnel if one is given. */
  function connect(
    { protocol, hostname, host, port }: URL,
    done: Connected,
    within?: Socket,
  ): void {
    const connectTo = buildConnector({
      ...defined({ ca: ca && [...ca] }),
      minVersion: "TLSv1.2",
      allowH2: false,
      // Set here, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect.
      rejectUnauthorized: true,
      // The call that waits for it has a limit for the whole way.
      timeout: 0,
      signal,
    });
    const to = { protocol, hostname: hostname.replace(/^\[(.*)\]$/, "$1"), host, port };
    connectTo({ ...to, ...defined({ httpSocket: within }) }, done);
  }
  if (proxy === undefined) return connect(origin, connected);
  const way = { origin, proxy };
  const failed = (failure: Error): void => connected(failure, null);
  connect(proxy.url, (error, socket) => {
    if (error !== null) failed(proxyFailure(error, way));
    else if (forwarded) connected(null, socket);
    else tunnel(socket, way, () => connect(origin, connected, socket), failed);
  });
}

/** Asks a proxy for a tunnel (CONNECT) to a service, which then is the socket itself. */
function tunnel(
  socket: Socket,
  way: { origin: URL; proxy: Proxy },
  made: () => void,
  failed: (failure: Error) => void,
): void {
  const { origin, proxy } = way;
  const target = `${origin.hostname}:${origin.port || "443"}`;
  const client = new Client(proxy.url.origin, {
    connect: (_, connected) => queueMicrotask(() => connected(null, socket)),
    headersTimeout: 0,
  });
  client.dispatch(
    {
      method: "CONNECT",
      path: target,
      headers: { host: target, ...proxyAuthorization(proxy) },
    },
    {
      onRequestStart: () => undefined,
      onRequestUpgrade(_, status) {
        if (status >= 200 && status <= 299) return made();
        socket.destroy();
        failed(proxyRefusal(status, way));
      },
      onResponseError: (_, error) => failed(proxyFailure(error, way)),
    },
  );
}

/** The header with the credentials of a proxy's URL, if it has any. */
export function proxyAuthorization({ url }: Proxy): Record<string, string> {
  if (url.username === "") return {};
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(pair).toString("base64")}` };
}
