import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import type { buildConnector, Dispatcher } from "undici";
import Client from "undici/lib/dispatcher/client.js";
import type { Proxy } from "./causes.ts";
import { proxyFailure, proxyRefusal } from "./causes.ts";

/** A connector as undici's. Returns a function that ends the attempt; the callback is called once, later. */
export type Connector = (options: buildConnector.Options, callback: buildConnector.Callback) => () => void;

/** The header with the credentials of a proxy's URL, if it has any. */
export function proxyAuthorization({ url }: Proxy): Record<string, string> {
  if (url.username === "") return {};
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(pair).toString("base64")}` };
}

/** Removes the TLS name that undici takes from the request's Host, which is the service's and not the proxy's. */
export function withoutServerName(options: buildConnector.Options): buildConnector.Options {
  const { servername: _servername, ...rest } = options;
  return rest;
}

/**
 * A connector that asks `proxy` for a tunnel (CONNECT) and passes it to `toService`, which starts TLS in it. A failure of the proxy
 * is a `ProxyFailure`; nothing was written to the service.
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
      // Required by undici.
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
