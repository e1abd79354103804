import type { IncomingMessage, RequestListener } from "node:http";
import { createServer, request as httpRequest } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import type { Certificate } from "./keys.ts";
import { onLoopback } from "./loopback.ts";

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

  const forward: RequestListener = (request, response) => {
    const status = refusal(request);
    if (status !== undefined) {
      response
        .writeHead(status, { "proxy-authenticate": 'Basic realm="proxy"' })
        .end("<html>no</html>");
      return;
    }
    const { hostname, port, pathname } = new URL(request.url ?? "");
    const [onPort, host] = place(hostname, port || "80");
    const { "proxy-authorization": _, ...headers } = request.headers;
    const onward = httpRequest(
      { host, port: onPort, path: pathname, method: request.method, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on("error", () => response.writeHead(502).end());
    request.pipe(onward);
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
    certificate === undefined ? createServer(forward) : createTlsServer(certificate, forward);
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
