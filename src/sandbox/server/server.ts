import http from "node:http";
import type { AddressInfo } from "node:net";
import { VaultError } from "../../errors.ts";
import type { SandboxResponse } from "../model/outcome.ts";
import { refusal, write } from "../model/outcome.ts";
import type { Random } from "../seeds/random.ts";
import { isLoopback } from "../../protocol/address.ts";
import type { Handler } from "./handler.ts";

interface RunningServer {
  port: number;
  /** Closes all connections at once; delayed responses are never sent. A second call does nothing. */
  close(): Promise<void>;
}

const bodyLimit = 1024 * 1024;

/**
 * Listens on 127.0.0.1; port 0 is any free port.
 * @throws `usage` if the port cannot be used
 */
export async function listen(
  handle: Handler,
  random: Random,
  port: number,
): Promise<RunningServer> {
  const timers = new Set<NodeJS.Timeout>();
  const server = http.createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const foreign = refuseForeign(request.headers);
    if (foreign !== undefined) {
      send(request, response, write(refusal({ random }, 403, "FOREIGN", [{ message: foreign }])));
      request.resume();
      return;
    }
    receive(request, (body) => {
      if (body === undefined) {
        response.setHeader("connection", "close");
        send(
          request,
          response,
          write(
            refusal({ random }, 413, "TOO-LARGE", [{ message: "the body is larger than 1 MiB" }]),
          ),
        );
        return;
      }
      const answer = handle({
        method: request.method ?? "",
        path: request.url ?? "",
        // Node makes one value of repeated headers, except of Set-Cookie, which no request of the interface has.
        headers: request.headers as Record<string, string | undefined>,
        body,
        remoteAddress: request.socket.remoteAddress ?? "",
      });
      if (answer.delayMs === undefined || answer.delayMs === 0)
        return send(request, response, answer);
      const timer = setTimeout(() => {
        timers.delete(timer);
        send(request, response, answer);
      }, answer.delayMs);
      timers.add(timer);
    });
  });
  await bind(server, port);
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      for (const timer of timers) clearTimeout(timer);
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function bind(server: http.Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const why =
        cause.code === "EADDRINUSE"
          ? "is taken by another program"
          : `cannot be used (${cause.code})`;
      reject(
        new VaultError("usage", `--port ${port}: the port ${why}`, {
          hint: "choose another --port, or 0 for any free one",
          cause,
        }),
      );
    });
    server.listen(port, "127.0.0.1", resolve);
  });
}

/** Calls back once: with the body, or with undefined as soon as it is too long. It never calls back for an incomplete body. */
function receive(request: http.IncomingMessage, done: (body: string | undefined) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  request.on("data", (chunk: Buffer) => {
    const within = size <= bodyLimit;
    size += chunk.length;
    if (size <= bodyLimit) chunks.push(chunk);
    else if (within) done(undefined);
  });
  request.on("end", () => {
    if (size <= bodyLimit) done(Buffer.concat(chunks).toString("utf8"));
  });
  request.on("error", () => request.destroy());
}

function send(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  answer: SandboxResponse,
): void {
  if (answer.transport === "hang") return;
  if (answer.transport === "drop") {
    request.socket.destroy();
    return;
  }
  const body = Buffer.from(answer.body);
  response.writeHead(answer.status, { ...answer.headers, "content-length": String(body.length) });
  if (answer.transport === "cut")
    response.write(body.subarray(0, body.length >> 1), () => request.socket.destroy());
  else response.end(body, answer.afterwards);
}

/**
 * Returns why a request is refused, or undefined. A web page could reach a server on loopback through a browser: directly (the request
 * has an `Origin`) or by a host name that resolves to loopback (its `Host` is not a loopback address).
 */
export function refuseForeign(
  headers: Record<string, string | string[] | undefined>,
): string | undefined {
  if (headers["origin"] !== undefined) return "requests with an Origin are refused";
  const name = /^(.+?)(?::\d{1,5})?$/.exec(String(headers["host"]))?.[1] ?? "";
  return isLoopback(name.toLowerCase()) ? undefined : "the Host must be a loopback address";
}
