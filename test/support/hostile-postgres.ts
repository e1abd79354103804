import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { createServer } from "node:net";
import { atEndOfFile } from "./end-of-file.ts";

/** A message of the protocol: its type, and its body. */
export function message(type: string, ...body: (Buffer | string)[]): Buffer {
  const whole = Buffer.concat(
    body.map((part) => (typeof part === "string" ? Buffer.from(part) : part)),
  );
  const header = Buffer.alloc(5);
  header.write(type);
  header.writeUInt32BE(whole.length + 4, 1);
  return Buffer.concat([header, whole]);
}

export const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

/** An error (`E`) or a notice (`N`) with a SQLSTATE. */
export const report = (type: "E" | "N", code: string, text: string): Buffer =>
  message(type, `SERROR\0VERROR\0C${code}\0M${text}\0`, "\0");

export const ready = message("Z", "I");

const welcome = Buffer.concat([message("R", int32(0)), ready]);

/** What it does with a client. */
export interface HostileServer {
  /** In place of letting a client in. */
  login?: (socket: Socket) => void;
  /** In answer to each request, once it is whole; `syncs` are the ends of transactions in it. */
  answer?: (socket: Socket, syncs: number) => void;
}

/** A server on loopback that speaks the protocol of PostgreSQL as far as it likes. Ended with the test file. Returns the location of a state. */
export async function hostilePostgres({ login, answer }: HostileServer): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    let isIn = false;
    socket.on("data", (chunk: Buffer) => {
      if (isIn) answer?.(socket, syncsIn(chunk));
      else if (login === undefined) socket.write(welcome);
      else login(socket);
      isIn = true;
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  atEndOfFile(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `postgres://team@127.0.0.1:${(server.address() as AddressInfo).port}/vaults`;
}

/** The program writes a request in one piece. */
function syncsIn(chunk: Buffer): number {
  let syncs = 0;
  for (let at = 0; at + 5 <= chunk.length; at += 1 + chunk.readUInt32BE(at + 1))
    syncs += [0x51, 0x53].includes(chunk[at] ?? 0) ? 1 : 0;
  return syncs;
}

/** Writes the same again and again, as fast as it is read. */
export function endlessly(socket: Socket, bytes: Buffer): void {
  const many = Buffer.concat(Array.from({ length: Math.ceil(65_536 / bytes.length) }, () => bytes));
  const more = (): void => {
    while (!socket.destroyed && socket.write(many));
    if (!socket.destroyed) socket.once("drain", more);
  };
  more();
}
