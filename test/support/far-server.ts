import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { createConnection, createServer } from "node:net";
import { atEndOfFile } from "./end-of-file.ts";

interface FarServer {
  port: number;
  /** Round trips to it so far: each connection made, and each time that a client sends something after an answer has arrived. */
  trips: number;
}

/** A proxy in front of a server on this machine, by which everything takes `delayMs` each way. */
export async function farServer(target: number, delayMs: number): Promise<FarServer> {
  const far: FarServer = { port: 0, trips: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = createConnection(target, "127.0.0.1");
    // Making the connection is one, and what is sent first follows its answer.
    let isAnswered = true;
    far.trips += 1;
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from.setNoDelay());
      from.on("error", () => to.destroy());
      from.on("close", () => setTimeout(() => to.destroy(), delayMs));
      from.on("data", (bytes) => {
        if (from === client && isAnswered) far.trips += 1;
        if (from === client) isAnswered = false;
        setTimeout(() => {
          if (to === client) isAnswered = true;
          to.write(bytes);
        }, delayMs);
      });
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  atEndOfFile(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  far.port = (server.address() as AddressInfo).port;
  return far;
}
