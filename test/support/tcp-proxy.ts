import type { Socket } from "node:net";
import { createConnection, createServer } from "node:net";
import type { Dice } from "./dice.ts";
import { onLoopback } from "./loopback.ts";

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
  return {
    port,
    doAt(n, action) {
      seen = cutAt = 0;
      actAt = n;
      act = action;
    },
    end: () => {
      for (const connection of open) connection.end();
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
