import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Dispatcher } from "undici";
import { Client } from "undici";
import { defined } from "../defined.ts";
import type { Proxy, Route } from "./causes.ts";
import { answerLimit, connectionClosed } from "./causes.ts";
import type { Head, WholeResponse } from "./reply.ts";
import type { HttpRequest } from "./request.ts";
import { originOf } from "./request.ts";
import type { Trust } from "./socket.ts";
import { openSocket, proxyAuthorization } from "./socket.ts";

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

/** How far a request came. */
export interface Progress {
  /**
   * When it was written, in milliseconds since the epoch. While this is undefined, surely no byte
   * was.
   */
  sentAt?: number;
  head?: Head;
}

/**
 * One HTTP/1.1 connection to the origin of a base URL, for one request at a time, and kept for the
 * next.
 */
export interface Connection {
  route: Route;
  /** Whether a request can be written at once. */
  isOpen(): boolean;
  /** Connects, unless it is open. An abort ends the attempt, and rejects. */
  open(signal: AbortSignal): Promise<void>;
  /**
   * Sends a request, once, and returns its answer. An abort rejects, and drops the connection, so
   * that a late answer cannot reach another request.
   */
  send(request: HttpRequest, progress: Progress, signal: AbortSignal): Promise<WholeResponse>;
  /** The server of the last connection made; undefined without https. */
  peer(): Peer | undefined;
  close(): void;
}

/** A connection that is made before its request, whose turn it must not delay. */
interface Ahead {
  opened: Promise<Socket>;
  /** Once it is there. */
  socket?: Socket;
  end: AbortController;
}

/**
 * Makes a connection to a service, which `open` or the first request opens. For an http service
 * behind a proxy, the request carries the whole URL, as proxies expect.
 * @throws `usage` for a base URL that is not an http or https URL
 */
export function makeConnection(options: ConnectionOptions): Connection {
  const origin = originOf(options.baseUrl);
  const { proxy } = options;
  const forwarded = proxy !== undefined && origin.protocol === "http:";
  const route: Route = { origin, forwarded, ...defined({ proxy }) };
  const toProxy = forwarded ? { host: origin.host, ...proxyAuthorization(proxy) } : {};
  let ahead: Ahead | undefined;
  let peer: Peer | undefined;

  /** The connection that is made ahead, or a new one. */
  function connect(): Ahead {
    if (ahead !== undefined) return ahead;
    const end = new AbortController();
    const forget = (): void => {
      if (ahead === begun) ahead = undefined;
    };
    const begun: Ahead = { end, opened: opening() };
    async function opening(): Promise<Socket> {
      try {
        const socket = await openSocket(route, options, end.signal);
        peer = origin.protocol === "https:" ? peerOf(socket as TLSSocket) : undefined;
        // What a server sends without being asked is no answer to the next request.
        return (begun.socket = socket.once("readable", drop).once("close", forget));
      } catch (error) {
        forget();
        throw error;
      }
    }
    return (ahead = begun);
  }

  async function handOver(): Promise<Socket> {
    const socket = await connect().opened;
    ahead = undefined;
    // The client connects again without end if it gets a closed one.
    if (socket.readyState !== "open") throw connectionClosed();
    return socket.off("readable", drop);
  }

  const client = new Client(forwarded ? proxy.url.origin : origin.origin, {
    // Its own limits leave out the time in which an answer comes byte by byte: the caller's is for
    // all of it.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxResponseSize: answerLimit.bytes,
    connect(_, connected) {
      handOver().then(
        (socket) => connected(null, socket),
        (error: Error) => connected(error, null),
      );
    },
  });
  const isOpen = (): boolean => client.stats.connected || ahead?.socket !== undefined;

  return {
    route,
    isOpen,
    async open(signal) {
      if (isOpen()) return;
      const { opened, end } = connect();
      const stop = (): void => end.abort();
      signal.addEventListener("abort", stop, { once: true });
      await opened.finally(() => signal.removeEventListener("abort", stop));
    },
    async send({ method, path, headers, body }, progress, signal) {
      let written: Dispatcher.DispatchController | undefined;
      const stop = (): void => {
        if (written === undefined) ahead?.end.abort();
        else written.abort(signal.reason as Error);
      };
      signal.addEventListener("abort", stop, { once: true });
      const answered = new Promise<WholeResponse>((resolve, reject) => {
        const chunks: Buffer[] = [];
        client.dispatch(
          {
            method,
            path: forwarded ? `${origin.origin}${path}` : path,
            headers: { ...headers, ...toProxy },
            body: body === undefined ? null : JSON.stringify(body),
          },
          {
            // Called in the synchronous step that writes the request.
            onRequestStart(controller) {
              signal.throwIfAborted();
              if (progress.sentAt !== undefined) throw new Error("a request is sent once");
              progress.sentAt = Date.now();
              written = controller;
            },
            onResponseStart(_, httpStatus, answer) {
              if (httpStatus >= 200) progress.head = { httpStatus, headers: answer };
            },
            onResponseData: (_, chunk) => void chunks.push(chunk),
            onResponseEnd: () =>
              resolve({ ...(progress.head as Head), body: Buffer.concat(chunks) }),
            onResponseError: (_, error) => reject(error),
          },
        );
      });
      return await answered.finally(() => signal.removeEventListener("abort", stop));
    },
    peer: () => peer,
    close() {
      ahead?.end.abort();
      void client.destroy();
    },
  };
}

function drop(this: Socket): void {
  this.destroy();
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
