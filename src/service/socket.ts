import { request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import { connect, isIP } from "node:net";
import { defined } from "../defined.ts";
import { isLoopback } from "../protocol/address.ts";
import type { Proxy } from "./causes.ts";
import { proxyFailure, proxyRefusal } from "./causes.ts";

export interface Trust {
  /** Certificates (PEM) to trust instead of Node's own list. */
  ca?: readonly string[];
  /** Do not check certificates. Only has effect for a service on this machine. */
  unverified?: boolean;
}

/** Opens a socket to the host of a URL, with TLS 1.2 or newer for https, and within `tunnel` if given. An abort ends the attempt. */
export async function openSocket(
  to: URL,
  { ca, unverified }: Trust,
  signal: AbortSignal,
  tunnel?: Socket,
): Promise<Socket> {
  const isSecure = to.protocol === "https:";
  const host = to.hostname.replace(/^\[(.*)\]$/, "$1");
  const address = { host, port: Number(to.port) || (isSecure ? 443 : 80) };
  // Loaded for https alone.
  const tls = isSecure ? (await import("node:tls")).default : undefined;
  signal.throwIfAborted();
  const socket =
    tls?.connect({
      ...address,
      ...defined({
        ca: ca && [...ca],
        socket: tunnel,
        servername: isIP(host) === 0 ? host : undefined,
      }),
      minVersion: "TLSv1.2",
      ALPNProtocols: ["http/1.1"],
      // Set here, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect by itself.
      rejectUnauthorized: !(unverified === true && isLoopback(to.hostname)),
    }) ?? connect(address);
  socket.setNoDelay(true).setKeepAlive(true, 60_000);
  signal.addEventListener("abort", () => socket.destroy(), { once: true });
  await new Promise<void>((resolve, reject) => {
    socket.once(isSecure ? "secureConnect" : "connect", resolve);
    socket.once("close", () => reject(connectionClosed()));
    // Stays, because without a listener an error of an idle socket would end the process.
    socket.on("error", reject);
  });
  return socket;
}

/**
 * Asks a proxy for a tunnel (CONNECT) to a service, which then is the socket itself.
 * @throws ProxyFailure if it does not give one
 */
export async function openTunnel(
  socket: Socket,
  { origin, proxy }: { origin: URL; proxy: Proxy },
): Promise<void> {
  const target = `${origin.hostname}:${origin.port || "443"}`;
  const headers = { host: target, connection: "close", ...proxyAuthorization(proxy) };
  await new Promise<void>((resolve, reject) => {
    const request = httpRequest({
      method: "CONNECT",
      path: target,
      headers,
      createConnection: () => socket,
    });
    request.once("connect", ({ statusCode = 0 }) => {
      if (statusCode >= 200 && statusCode <= 299) return resolve();
      socket.destroy();
      reject(proxyRefusal(statusCode, { origin, proxy }));
    });
    request.once("error", (error) => reject(proxyFailure(error, { origin, proxy })));
    request.end();
  });
}

/** The error, as Node gives it, of a connection that closed without one. */
export const connectionClosed = (): Error =>
  Object.assign(new Error("closed"), { code: "ECONNRESET" });

/** The header with the credentials of a proxy's URL, if it has any. */
export function proxyAuthorization({ url }: Proxy): Record<string, string> {
  if (url.username === "") return {};
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(pair).toString("base64")}` };
}
