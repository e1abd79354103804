import type { Socket } from "node:net";
import { buildConnector, Client, type Dispatcher } from "undici";
import { defined } from "../defined.ts";
import type { Failure, Progress, Proxy, Route } from "./causes.ts";
import { Canceled, connectCause, failureOf, hostOf, ProxyFailure, TimedOut } from "./causes.ts";
import type { HttpRequest, WholeResponse } from "./http.ts";

export interface ConnectionOptions {
  /** The service's name, a URL. */
  service: string;
  /** Certificates (PEM) to trust instead of Node's own list. */
  ca?: readonly string[];
  proxy?: Proxy;
  /** Time limit for the connection, and for a request from its first byte to the last of its answer. */
  timeoutMs: number;
}

/** A whole response, or why there is none. */
export type Outcome = (WholeResponse & { sentAt: number }) | Failure;

/**
 * Sends a request, at most once. When the connection stands, `ready` is awaited, and the request follows at once; if the connection is
 * lost meanwhile, both again. An abort ends it, and drops a connection that an answer can still come on.
 * @throws what `ready` throws: nothing was sent then
 */
type SendRequest = (
  request: HttpRequest,
  signal: AbortSignal,
  ready?: () => Promise<void>,
) => Promise<Outcome>;

/** The longest delay of a Node timer, which treats a longer one as none. */
const longestTimer = 2 ** 31 - 1;

/** How often a request is tried whose connection is lost before it is written. */
const triesAtMost = 3;

/** Why a request was not written: since the connection was made, it has not been ready. */
class NotReady extends Error {}

/**
 * Makes an HTTP/1.1 connection to the origin of a base URL, for one request at a time, and kept for the next. The first request opens it.
 */
export function makeConnection(options: ConnectionOptions): SendRequest {
  const origin = new URL(options.service);
  const { proxy, timeoutMs } = options;
  const route: Route = { origin, timeoutMs, ...defined({ proxy }) };
  let isReady = false;
  let connecting: AbortController | undefined;

  const client = new Client(origin.origin, {
    // Its own limits leave out the time in which an answer comes byte by byte.
    headersTimeout: 0,
    bodyTimeout: 0,
    // The interface names none; in memory an answer takes about ten times its size.
    maxResponseSize: 64 * 1024 * 1024,
    connect(_, connected) {
      isReady = false;
      connecting = new AbortController();
      openSocket(route, options.ca, connecting.signal, (...made) => {
        connecting = undefined;
        // In this turn: the client connects again without end if it gets a closed one.
        connected(...made);
      });
    },
  });

  /** Connects if need be, and writes the request if it is ready. */
  async function dispatch(
    { method, path, headers, body }: HttpRequest,
    progress: Progress,
    signal: AbortSignal,
  ): Promise<Buffer> {
    signal.throwIfAborted();
    let stop = (): void => undefined;
    const answered = new Promise<Buffer>((resolve, reject) => {
      let written: Dispatcher.DispatchController | undefined;
      stop = () => {
        written?.abort(signal.reason as Error);
        connecting?.abort();
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", stop, { once: true });
      const chunks: Buffer[] = [];
      client.dispatch(
        { method, path, headers, body: body === undefined ? null : JSON.stringify(body) },
        {
          // Called in the synchronous step that writes the request, which an error prevents.
          onRequestStart(controller) {
            signal.throwIfAborted();
            if (!isReady) throw new NotReady();
            if (progress.sentAt !== undefined) throw new Error("a request is sent once");
            progress.sentAt = Date.now();
            written = controller;
          },
          onResponseStart(_, httpStatus, answer) {
            if (httpStatus >= 200) progress.head = { httpStatus, headers: answer };
          },
          onResponseData: (_, chunk) => void chunks.push(chunk),
          onResponseEnd: () => resolve(Buffer.concat(chunks)),
          onResponseError: (_, error) => reject(error),
        },
      );
    });
    return await answered.finally(() => signal.removeEventListener("abort", stop));
  }

  return async (request, signal, ready) => {
    const progress: Progress = {};
    for (let tries = 0; tries < triesAtMost; tries += 1) {
      // Else this try connects, and stops at the brink of writing.
      if (client.stats.connected) {
        // Until another connection is made.
        isReady = true;
        await ready?.().catch((error: unknown) => {
          if (!signal.aborted) throw error;
        });
      }
      const time = AbortSignal.timeout(Math.min(timeoutMs, longestTimer));
      const either = AbortSignal.any([time, signal]);
      try {
        const body = await dispatch(request, progress, either);
        const { head, sentAt } = progress as Required<Progress>;
        return { ...head, body, sentAt };
      } catch (error) {
        if (error instanceof NotReady) continue;
        const isTime = either.reason === time.reason;
        const given = isTime ? new TimedOut() : new Canceled();
        return failureOf(either.aborted ? given : (error as Error), route, progress);
      }
    }
    return failureOf(Object.assign(new Error("closed"), { code: "ECONNRESET" }), route);
  };
}

type Connected = buildConnector.Callback;

/**
 * Connects to a service, with TLS 1.2 or newer for https, and through the proxy of the route: by CONNECT, so that what comes after it
 * is the service's own. An abort ends the attempt. The error is a ProxyFailure if the proxy does not lead there.
 */
function openSocket(
  route: Route,
  ca: readonly string[] | undefined,
  signal: AbortSignal,
  connected: Connected,
): void {
  const connectTo = buildConnector({
    ...defined({ ca: ca && [...ca] }),
    minVersion: "TLSv1.2",
    allowH2: false,
    // The certificate of a resumed session is not verified again, and a proxy on the same host may have the service's ticket keys.
    maxCachedSessions: 0,
    // Set here, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect.
    rejectUnauthorized: true,
    // The call that waits for it has a limit for the whole way.
    timeout: 0,
    signal,
  });
  /** Connects to the host of a URL, within a tunnel if one is given. */
  const connect = (url: URL, done: Connected, httpSocket?: Socket): void => {
    const { protocol, host, port } = url;
    const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
    connectTo({ protocol, hostname, host, port, ...defined({ httpSocket }) }, done);
  };
  const { origin, proxy } = route;
  if (proxy === undefined) return connect(origin, connected);
  connect(proxy.url, (error, socket) => {
    if (error !== null) return connected(proxyFailure(error, proxy), null);
    tunnel(socket, proxy, hostOf(origin), (failure) => {
      if (failure !== undefined) connected(failure, null);
      else if (origin.protocol === "http:") connected(null, socket);
      else connect(origin, connected, socket);
    });
  });
}

const proxyFailure = (error: Error, { url }: Proxy): ProxyFailure =>
  new ProxyFailure(connectCause(error, { origin: url }, `the proxy ${hostOf(url)}`).cause);

/** Asks a proxy for a tunnel (CONNECT) to a host and port, which then is the socket itself. */
function tunnel(
  socket: Socket,
  proxy: Proxy,
  target: string,
  made: (failure?: Error) => void,
): void {
  const [user, password] = [proxy.url.username, proxy.url.password].map(decodeURIComponent);
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  const headers = { host: target, ...(user !== "" && { "proxy-authorization": authorization }) };
  const client = new Client(proxy.url.origin, {
    connect: (_, connected) => queueMicrotask(() => connected(null, socket)),
    headersTimeout: 0,
  });
  client.dispatch(
    { method: "CONNECT", path: target, headers },
    {
      onRequestStart: () => undefined,
      onRequestUpgrade(_, status) {
        // No service speaks first: what came with the consent is a page of the proxy. (undici would connect again without end.)
        const isTunnel = status >= 200 && status <= 299 && socket.readableLength === 0;
        if (isTunnel) return made();
        socket.destroy();
        const refusal = `does not connect to ${target} (HTTP ${status})`;
        made(new ProxyFailure(`the proxy ${hostOf(proxy.url)} ${refusal}`));
      },
      onResponseError: (_, error) => made(proxyFailure(error, proxy)),
    },
  );
}
