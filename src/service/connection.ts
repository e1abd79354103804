import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http";
import { request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { defined } from "../defined.ts";
import type { Proxy, Route } from "./causes.ts";
import { AnswerTooLarge, answerLimit, proxyFailure } from "./causes.ts";
import type { Head, WholeResponse } from "./reply.ts";
import { originOf } from "./request.ts";
import type { Trust } from "./socket.ts";
import { connectionClosed, openSocket, openTunnel, proxyAuthorization } from "./socket.ts";

export interface ConnectionOptions extends Trust {
  baseUrl: string;
  proxy?: Proxy;
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

/** A request with its path, which begins with a slash, and its body, if any. */
interface Message {
  method: string;
  path: string;
  headers: Record<string, string>;
  /** Its bytes, a character each. */
  body?: string;
}

/** How far a request came. */
export interface Progress {
  /** When it was written, in milliseconds since the epoch. While this is undefined, surely no byte was. */
  sentAt?: number;
  head?: Head;
}

/** Waits for the moment at which a request may be written. */
export type InTurn = () => Promise<void>;

/** One HTTP/1.1 connection to the origin of a base URL, opened by `prepare` or by the first request, and kept for the next. */
export interface Connection {
  route: Route;
  /** Begins to connect for the next request, which takes longer than that may be late for its turn. A failure is that request's to find. */
  prepare(): void;
  /**
   * Sends a request when the ones before are done, and returns its answer. `inTurn` is awaited between the connection and the first
   * byte. An abort rejects at once, with its reason, and drops the connection, so that a late answer cannot reach another request.
   */
  send(
    message: Message,
    progress: Progress,
    signal: AbortSignal,
    inTurn?: InTurn,
  ): Promise<WholeResponse>;
  /** The server of the last connection made; undefined without https. */
  peer(): Peer | undefined;
  /** Closes the idle connection. */
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
  let last: Promise<void> = Promise.resolve();
  let socket: Socket | undefined;
  /** The attempt to connect that is under way. */
  let attempt: { opened: Promise<Socket>; end: AbortController } | undefined;
  /** The signal of the request that has the socket. */
  let holder: AbortSignal | undefined;
  let peer: Peer | undefined;

  async function connect(signal: AbortSignal): Promise<Socket> {
    if (proxy === undefined) return await openSocket(origin, options, signal);
    const toProxy = await openSocket(proxy.url, options, signal).catch((error: unknown) => {
      throw proxyFailure(error as Error, { origin, proxy });
    });
    if (forwarded) return toProxy;
    await openTunnel(toProxy, { origin, proxy });
    return await openSocket(origin, options, signal, toProxy);
  }

  async function open(signal: AbortSignal): Promise<Socket> {
    try {
      const opened = (socket = await connect(signal));
      holder = undefined;
      // What a server sends without being asked is no answer to the next request.
      const dropIdle = (): void => void (holder ?? opened.destroy());
      for (const event of ["data", "end", "timeout"]) opened.on(event, dropIdle);
      peer = origin.protocol === "https:" ? peerOf(opened as TLSSocket) : undefined;
      return opened;
    } finally {
      attempt = undefined;
    }
  }

  function beginToConnect(): Promise<Socket> {
    if (attempt === undefined) {
      const end = new AbortController();
      attempt = { opened: open(end.signal), end };
    }
    return attempt.opened;
  }

  const kept = (): Socket | undefined => (socket?.readyState === "open" ? socket : undefined);

  /** The kept socket, or a new one, when the turn has come. */
  async function ready(signal: AbortSignal, inTurn?: InTurn): Promise<Socket> {
    const stop = (): void => attempt?.end.abort();
    signal.addEventListener("abort", stop, { once: true });
    try {
      for (let tries = 2; ; tries -= 1) {
        const opened = kept() ?? (await beginToConnect());
        await inTurn?.();
        signal.throwIfAborted();
        // The server may have closed it in the meantime.
        if (kept() === undefined && tries > 1) continue;
        holder = signal;
        return opened.ref().setTimeout(0);
      }
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Keeps the socket for the next request, without keeping the process alive. */
  function rest(
    { socket: used, writableFinished }: ClientRequest,
    headers: IncomingHttpHeaders,
  ): void {
    const idleMs = idleTime(headers["keep-alive"]);
    // An answer may come before the whole request is written.
    if (used?.readyState !== "open" || !writableFinished || idleMs <= 0)
      return void used?.destroy();
    holder = undefined;
    used.unref().setTimeout(idleMs);
  }

  function transmit(
    { method, path, headers, body }: Message,
    progress: Progress,
    signal: AbortSignal,
    inTurn?: InTurn,
  ): Promise<WholeResponse> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const request = httpRequest({
        method,
        path: forwarded ? `${origin.origin}${path}` : path,
        headers: {
          host: origin.host,
          connection: "keep-alive",
          ...headers,
          ...(forwarded ? proxyAuthorization(proxy) : {}),
          ...(body === undefined ? {} : { "content-length": String(body.length) }),
        },
        createConnection(_, connected) {
          ready(signal, inTurn).then(
            (opened) => connected(null, opened),
            (error: Error) => connected(error, undefined as never),
          );
          return undefined;
        },
      });
      let answer: IncomingMessage | undefined;
      request.once("response", (response) => {
        const { statusCode: httpStatus = 0, headers: answered } = response;
        response.once("error", reject);
        // A switch of protocols, which was not asked for.
        if (httpStatus < 200) return void response.destroy();
        answer = response;
        const head = (progress.head = { httpStatus, headers: answered });
        const chunks: Buffer[] = [];
        let size = 0;
        response.on("data", (chunk: Buffer) => {
          chunks.push(chunk);
          size += chunk.length;
          if (size > answerLimit.bytes) response.destroy(new AnswerTooLarge());
        });
        response.once("end", () => {
          rest(request, answered);
          resolve({ ...head, body: Buffer.concat(chunks) });
        });
      });
      // What follows a whole answer does not matter.
      const fail = (error?: Error): void =>
        void (answer?.complete === true || reject(error ?? connectionClosed()));
      request.on("error", fail);
      request.once("close", fail);
      // Emitted in the synchronous step that writes the request.
      request.once("socket", (used) => {
        if (used.destroyed) fail();
        else progress.sentAt = Date.now();
      });
      // Bytes as characters, which Node writes in one piece with the head.
      request.end(body, "latin1");
    });
  }

  return {
    route,
    prepare() {
      if (kept() === undefined) beginToConnect().catch(() => undefined);
    },
    send: (message, progress, signal, inTurn) =>
      new Promise((resolve, reject) => {
        const onAbort = (): void => {
          if (holder === signal) socket?.destroy();
          reject(signal.reason as Error);
        };
        signal.addEventListener("abort", onAbort, { once: true });
        last = last.then(() => transmit(message, progress, signal, inTurn)).then(resolve, reject);
      }),
    peer: () => peer,
    close() {
      attempt?.end.abort();
      socket?.destroy();
    },
  };
}

/** Time for which an idle connection is kept, in milliseconds: less than the server announces, so that no request meets its end. */
function idleTime(keepAlive: string | string[] | undefined): number {
  const seconds = /timeout=(\d+)/.exec(String(keepAlive))?.[1];
  return seconds === undefined ? 4000 : Math.min(Number(seconds) * 1000 - 2000, 600_000);
}

function peerOf(socket: TLSSocket): Peer | undefined {
  const { valid_to: validTo, issuer } = socket.getPeerCertificate();
  if (validTo === undefined) return undefined;
  const name = [issuer.O, issuer.CN].flat().find((text) => text !== undefined) ?? "unknown";
  return {
    protocol: socket.getProtocol() ?? "unknown",
    validTo: Date.parse(validTo),
    issuer: name,
  };
}
