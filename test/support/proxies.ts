import { connect, createConnection, createServer, type Socket } from "node:net";
import type { IncomingMessage, RequestListener } from "node:http";
import { createServer as createHttpServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Duplex } from "node:stream";
import type { Dice } from "./dice.ts";
import { onLoopback } from "./servers.ts";
import type { Certificate } from "./keys.ts";

/**
 * What becomes of a request of a client: nothing of it is forwarded, or all of it and no answer comes back, since the connection is
 * closed, closed on one side, or left open for ever. `gone` also ends every later connection.
 */
export type Cut = "before" | "after" | "half-closed" | "stalled" | "gone";

export interface Proxy {
  port: number;
  /** Cuts the connection at the n-th request from now on, once; 0 is never. */
  cutAt(n: number, cut: Cut): void;
  /** Cuts one of the connections, if there is one: at once, or when the answer to what was sent is on its way. */
  cutAny(dice: Dice): void;
  /** Does it when the n-th request from now on has been forwarded, once. */
  doAt(n: number, action: () => void): void;
  /** Ends all connections. */
  end(): void;
  /** Ends all connections, and listens no longer. */
  close(): void;
  /** How many requests came since then. */
  requests(): number;
  /** Round trips so far: each connection made, and each time that a client sends something after an answer has arrived. */
  readonly trips: number;
}

interface Connection {
  end(): void;
  cutsAnswer: boolean;
}

/** A proxy in front of a server on this machine, which cuts connections as it is told, and by which everything takes `delayMs` each way. */
export async function tcpProxy({ port: target }: { port: number }, delayMs = 0): Promise<Proxy> {
  let [seen, cutAt, actAt, trips] = [0, 0, 0, 0];
  let cut: Cut = "before";
  let act = (): void => undefined;
  const open = new Set<Connection>();
  const later = (action: () => void): void =>
    void (delayMs === 0 ? action() : setTimeout(action, delayMs));
  const server = createServer((client) => {
    const upstream = createConnection(target, "127.0.0.1");
    let isCut = false;
    // Making the connection is one round trip, and what is sent first follows its answer.
    let isAnswered = true;
    trips += 1;
    const connection: Connection = {
      cutsAnswer: false,
      end: () => {
        open.delete(connection);
        client.destroy();
        upstream.destroy();
      },
    };
    open.add(connection);
    for (const socket of [client, upstream])
      socket
        .setNoDelay()
        .on("error", connection.end)
        .on("close", () => later(connection.end));
    const write = (to: Socket, bytes: Buffer): void => later(() => void to.write(bytes));
    client.on("data", (bytes: Buffer) => {
      if (isCut) return;
      if (isAnswered) trips += 1;
      isAnswered = false;
      seen += 1;
      isCut = cut === "gone" && cutAt > 0 ? seen >= cutAt : seen === cutAt;
      if (isCut && (cut === "before" || cut === "gone")) return connection.end();
      write(upstream, bytes);
      if (seen === actAt) act();
    });
    upstream.on("data", (bytes: Buffer) => {
      if (connection.cutsAnswer || (isCut && cut === "after")) return connection.end();
      if (isCut && cut === "half-closed") return void client.end();
      if (isCut) return;
      later(() => (isAnswered = true));
      write(client, bytes);
    });
  });
  const port = await onLoopback(server);
  const end = (): void => {
    for (const connection of open) connection.end();
  };
  return {
    port,
    doAt(n, action) {
      seen = cutAt = 0;
      actAt = n;
      act = action;
    },
    end,
    close: () => {
      server.close();
      end();
    },
    cutAt(n, how) {
      seen = actAt = 0;
      cutAt = n;
      cut = how;
    },
    cutAny: (dice) => {
      const connection = dice.pick([...open]) as Connection | undefined;
      if (dice.chance(0.5)) connection?.end();
      else if (connection !== undefined) connection.cutsAnswer = true;
    },
    requests: () => seen,
    get trips() {
      return trips;
    },
  };
}

interface ProxyOptions {
  /** `user:password` that it asks for. */
  credentials?: string;
  /** Answers every request with this HTTP status. */
  refuses?: number;
  /** Where a name leads to, in place of what it resolves to: `vault.example` → a port on 127.0.0.1. */
  hosts?: Record<string, number>;
  /** Speaks TLS with its clients. */
  certificate?: Certificate;
}

interface ProxyServer {
  url: string;
  host: string;
  /** What was asked for: `CONNECT vault.example:443`, `POST http://…`. */
  asked: string[];
  /** Connections of clients. */
  connections: Socket[];
}

/** A real proxy on loopback, as users have them: CONNECT for tunnels, whole URLs for http. Closed after the test file. */
export async function startProxy({
  credentials,
  refuses,
  hosts = {},
  certificate,
}: ProxyOptions = {}): Promise<ProxyServer> {
  const asked: string[] = [];
  const connections: Socket[] = [];
  const refusal = (request: IncomingMessage): number | undefined => {
    asked.push(`${request.method} ${request.url}`);
    if (refuses !== undefined) return refuses;
    const expected =
      credentials === undefined
        ? undefined
        : `Basic ${Buffer.from(credentials).toString("base64")}`;
    return request.headers["proxy-authorization"] === expected ? undefined : 407;
  };
  const place = (host: string, port: string): [number, string] => [
    hosts[host] ?? Number(port),
    "127.0.0.1",
  ];

  // It makes tunnels alone.
  const forward: RequestListener = (request, response) => {
    response.writeHead(refusal(request) ?? 405).end();
  };
  const tunnel = (request: IncomingMessage, socket: Duplex): void => {
    socket.on("error", () => undefined);
    const status = refusal(request);
    if (status !== undefined) {
      socket.end(
        `HTTP/1.1 ${status} No\r\nproxy-authenticate: Basic realm="proxy"\r\ncontent-length: 2\r\n\r\nno`,
      );
      return;
    }
    const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(request.url ?? "") ?? [];
    const onward = connect(...place(host, port), () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    onward.on("error", () => socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n"));
    onward.on("close", () => socket.destroy());
    socket.on("close", () => onward.destroy());
  };

  const server =
    certificate === undefined ? createHttpServer(forward) : createTlsServer(certificate, forward);
  server.on("connect", tunnel);
  server.on("connection", (socket: Socket) => connections.push(socket));
  const port = await onLoopback(server);
  return {
    url: `${certificate === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    asked,
    connections,
  };
}
