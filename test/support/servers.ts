import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import type {
  IncomingHttpHeaders,
  IncomingMessage,
  Server as HttpServer,
  ServerResponse,
} from "node:http";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { atEndOfFile } from "./cleanup.ts";
import type { EndCall, Send, StartCall } from "../../src/exchange/ports.ts";
import { createClient, type ClientOptions } from "../../src/service/client.ts";
import { application, uuid } from "./examples.ts";
import type { Certificate } from "./keys.ts";

/**
 * Has a server listen on a port of 127.0.0.1 that is free, and ends it with its connections when the test file has ended. A client may
 * leave at any moment. Returns the port.
 */
export async function onLoopback(server: Server): Promise<number> {
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket.on("error", () => undefined));
    socket.once("close", () => open.delete(socket));
  });
  server.on("tlsClientError", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEndOfFile(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/**
 * A port on loopback that nobody listens on, for a server that listens on it later or again. The system gives it to nobody meanwhile: it
 * is below those that connections and port 0 get.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    server.close();
    if (isFree) return port;
  }
}

export const never = new AbortController().signal;

export const endCall: EndCall = {
  step: "end",
  uuid,
  kind: "credit-card/offline",
  operation: "get",
  token: "T0k/en+==",
};
export const startCall: StartCall = {
  step: "start",
  uuid,
  kind: "credit-card/offline",
  operation: "get",
  externalRef: "order-2291",
  credentials: { encryptedData: "ENC+1/==", payload: "PAY-1" },
};

interface Received {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingHttpHeaders;
  body: string;
}

interface TestServer {
  url: string;
  host: string;
  port: number;
  server: Server;
  connections: Socket[];
  requests: Received[];
}

type Answering = (request: Received, response: ServerResponse, message: IncomingMessage) => void;

export const success = { responseStatus: { status: "SUCCESS" } };

/** An HTTP server that records every connection and every whole request. Stopped when the test file has ended. */
export async function httpServer(
  answer: Answering = json(200, success),
  certificate?: Certificate,
): Promise<TestServer> {
  const listener = (message: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    message.on("data", (chunk: Buffer) => chunks.push(chunk));
    message.on("end", () => {
      const { method, url, headers } = message;
      const received = { method, url, headers, body: Buffer.concat(chunks).toString() };
      record.requests.push(received);
      answer(received, response, message);
    });
  };
  const server: HttpServer =
    certificate === undefined
      ? createHttpServer(listener)
      : createHttpsServer(certificate, listener);
  const record = await recorded(server, certificate === undefined ? "http" : "https");
  return record;
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answering =>
  (_, response) => {
    response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(JSON.stringify(body));
  };

/** A TCP server, which reads from a socket only in `onConnection`. Stopped when the test file has ended. */
export async function tcpServer(
  onConnection: (socket: Socket) => void,
  scheme = "http",
  pauseOnConnect = false,
): Promise<TestServer> {
  return await recorded(createServer({ pauseOnConnect }, onConnection), scheme);
}

/** A TCP server that gives this answer to every piece of a request; a small request comes in one piece. */
export function answeringTcp(
  onRequest: (socket: Socket, text: string) => void,
): Promise<TestServer> {
  return tcpServer((socket) => socket.on("data", (data) => onRequest(socket, data.toString())));
}

/** Has a server listen, and keeps its connections. */
async function recorded(server: Server, scheme: string): Promise<TestServer> {
  const connections: Socket[] = [];
  server.on("connection", (socket: Socket) => connections.push(socket));
  const port = await onLoopback(server);
  const host = `127.0.0.1:${port}`;
  return { url: `${scheme}://${host}`, host, port, server, connections, requests: [] };
}

/** A client of a server. */
export function clientOf(url: string, options: Partial<ClientOptions> = {}): { call: Send } {
  const call = createClient({
    service: `${url}/vaultsvc/v1-2`,
    application,
    version: "1.2.3",
    timeoutMs: 10_000,
    ...options,
  });
  return { call };
}

/** Resolves when a socket is closed, or was before. */
export async function closed(socket: Socket | undefined): Promise<void> {
  if (socket?.closed === false) await once(socket, "close");
}

/** A promise with its `resolve`, to wait for what a server sees. */
export function signal<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((fulfil) => {
    resolve = fulfil;
  });
  return { promise, resolve };
}
