import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Certificate } from "./keys.ts";
import { atEndOfFile } from "./end-of-file.ts";

export interface TlsFront {
  port: number;
  /** Connections of clients. */
  connections: Socket[];
}

/** TLS before a sandbox, as a load balancer does it: under any name. Closed after the test file. */
export async function startTlsFront(baseUrl: string, certificate: Certificate): Promise<TlsFront> {
  const connections: Socket[] = [];
  const { host, hostname, port } = new URL(baseUrl);
  const server = createServer(certificate, (request, response) => {
    const { method, url: path } = request;
    const onward = httpRequest(
      { host: hostname, port, method, path, headers: { ...request.headers, host } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  });
  server.on("connection", (socket: Socket) => connections.push(socket));
  server.on("tlsClientError", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEndOfFile(() => {
    for (const socket of connections) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, connections };
}
