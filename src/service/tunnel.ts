import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import type { buildConnector, Dispatcher } from "undici";
import Client from "undici/lib/dispatcher/client.js";
import type { Proxy } from "./causes.ts";
import { proxyFailure, proxyRefusal } from "./causes.ts";

/** As undici's connectors; returns what ends the attempt. The callback is called once, later. */
export type Connector = (options: buildConnector.Options, callback: buildConnector.Callback) => () => void;

/** The credentials of a proxy's URL, as it wants them. */
export function proxyAuthorization({ url }: Proxy): Record<string, string> {
  if (url.username === "") return {};
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(pair).toString("base64")}` };
}

/** undici takes the name for TLS from the Host of the request, which is the service's; the proxy has its own. */
export function withoutServerName(options: buildConnector.Options): buildConnector.Options {
  const { servername: _servername, ...rest } = options;
  return rest;
}

/**
 * A connector that asks `proxy` for a tunnel (CONNECT) and hands it to `toService`, which makes it TLS. What goes wrong
 * with the proxy is thrown as a `ProxyFailure`: nothing has been written to the service then.
 */
export function throughProxy(proxy: Proxy, http: Client.Options, toProxy: Connector, toService: Connector): Connector {
  return (options, callback) => {
    const target = `${options.hostname.includes(":") ? `[${options.hostname}]` : options.hostname}:${options.port || "443"}`;
    const origin = new URL(`https://${target}`);
    let stop: (() => void) | undefined;
    const client = new Client(proxy.url.origin, {
      ...http,
      connect: (to, connected) => {
        stop = toProxy(withoutServerName(to), connected);
      },
    });
    const handler: Dispatcher.DispatchHandler = {
      // undici asks for it.
      onRequestStart: () => undefined,
      onRequestUpgrade(_, httpStatus, __, socket: Duplex) {
        if (httpStatus >= 200 && httpStatus <= 299) {
          stop = toService({ ...options, httpSocket: socket as Socket }, callback);
          return;
        }
        socket.on("error", () => undefined).destroy();
        callback(proxyRefusal(httpStatus, { origin, proxy }), null);
      },
      onResponseError: (_, error) => callback(proxyFailure(error, { origin, proxy }), null),
    };
    client.dispatch({ method: "CONNECT", path: target, headers: { host: target, ...proxyAuthorization(proxy) } }, handler);
    return () => {
      stop?.();
      client.destroy(new Error("given up"), () => undefined);
    };
  };
}
