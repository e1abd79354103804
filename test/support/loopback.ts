import { once } from "node:events";
import type { AddressInfo, Server, Socket } from "node:net";
import { createServer } from "node:net";
import { atEndOfFile } from "./end-of-file.ts";

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

/** A port on loopback that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
